"""Models into MuJoCo: files, text and specifications, what is wrong with them, what they hash to."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np

from mainspring import state
from mainspring.physics._errors import ModelError
from mainspring.physics._model import find_file

__all__ = ["EngineWarnings", "listen_to", "load_model", "model_digest", "name_of", "only_ghosts"]


def load_model(mj: Any, model: Any) -> Any:
    """The compiled model, the solver's alone: its step is set, and another may have been given it."""
    if isinstance(model, mj.MjModel):
        return copy.copy(model)
    if isinstance(model, mj.MjSpec):
        return _compiled("<MjSpec>", "", mj, model.compile)
    if isinstance(model, str) and model.lstrip().startswith("<"):
        return _compiled("<MJCF text>", model, mj, lambda: mj.MjModel.from_xml_string(model))
    if not isinstance(model, str | Path):
        raise ModelError(
            f"a {type(model).__name__} is no model",
            file="<model>",
            hint="the path of an MJCF, URDF or MJB file, MJCF text, an MjSpec or an MjModel",
        )
    path = find_file(model)
    if not path.is_file():
        raise ModelError(
            "is a folder" if path.is_dir() else "no such file",
            file=str(path),
            hint="a relative path begins in the working folder, or beside the scene file",
        )
    if path.suffix == ".mjb":
        return _compiled(str(path), "", mj, lambda: mj.MjModel.from_binary_path(str(path)))
    source = path.read_text(encoding="utf-8", errors="replace")
    return _compiled(str(path), source, mj, lambda: mj.MjModel.from_xml_path(str(path)))


def _compiled(file: str, source: str, mj: Any, compile_model: Any) -> Any:
    try:
        return compile_model()
    except (ValueError, TypeError, mj.FatalError, mj.UnexpectedError) as error:
        text = " ".join(str(error).split())
        found = re.search(r"[Ll]ine(?: number)?[ =]+(\d+)", text)
        line = int(found[1]) if found else _line_that_names(text, source)
        raise ModelError(text, file=file, line=line) from error


def _line_that_names(reason: str, source: str) -> int | None:
    """The first line with what a reason quotes, where the engine tells no line: a missing mesh."""
    for named in re.findall(r"'([^']+)'", reason):
        wanted = re.split(r"[/\\]", named)[-1]  # the engine puts the model's folder before a file
        for line, content in enumerate(source.splitlines(), 1):
            if wanted in content:
                return line
    return None


def model_digest(mj: Any, model: Any) -> bytes:
    # The timestep belongs to the runner, not to the model.
    step, model.opt.timestep = float(model.opt.timestep), 0.0
    packed = np.empty(mj.mj_sizeModel(model), dtype=np.uint8)
    mj.mj_saveModel(model, None, packed)
    model.opt.timestep = step
    return state.digest(mj.__version__.encode() + packed.tobytes())


def name_of(mj: Any, model: Any, kind: Any, index: int) -> str:
    named = mj.mj_id2name(model, kind, index)
    return named or f"{kind.name.removeprefix('mjOBJ_').lower()}_{index}"


def only_ghosts(mj: Any, model: Any) -> bool:
    """Whether the mocap bodies are for show: nothing touches them or hangs on them.

    Moving such a body changes no force, so the step need not begin anew because of it.
    """
    tied = int(model.neq) or int(model.ntendon)
    tied = tied or (model.actuator_trntype == int(mj.mjtTrn.mjTRN_SITE)).any()
    moving = model.body_mocapid[model.body_rootid] >= 0
    geoms = moving[model.geom_bodyid]
    touchable = (model.geom_contype[geoms] | model.geom_conaffinity[geoms]).any()
    jointed = moving[model.jnt_bodyid].any()
    return not (tied or touchable or jointed or int(model.npair))


class EngineWarnings:
    """How often the engine warned in this process, on any thread.

    Listening also keeps MuJoCo from writing MUJOCO_LOG.TXT into the working folder. Whoever
    listened before is still told.
    """

    def __init__(self, before: Any) -> None:
        self.count = 0
        self.last = ""
        self._before = before

    def __call__(self, message: str) -> None:
        self.count += 1
        self.last = message
        if callable(self._before):
            self._before(message)


def listen_to(mj: Any) -> EngineWarnings:
    current = mj.get_mju_user_warning()
    if isinstance(current, EngineWarnings):
        return current
    warnings = EngineWarnings(current)
    mj.set_mju_user_warning(warnings)
    return warnings
