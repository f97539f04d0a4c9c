"""Reading an MJCF model: what it includes, every file it needs, and whether the engine takes it.

The promise: the files found are those that MuJoCo would open, for its rules are followed: what is
included becomes part of one document, whose last `<compiler>` decides where meshes and textures
lie; a name that is not found there is looked for beside the file that says it; an attached model
is a document of its own. The engine itself runs in a process of its own, with a bound on what it
may take, so that a model that never ends or breaks it costs a message.
"""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from mainspring.project._models import (
    FILE_HINT,
    Check,
    Element,
    Faults,
    check_file,
    find_inside,
    read_xml,
)
from mainspring.project.errors import AssetError
from mainspring.threads import StopToken

__all__ = ["find_mjcf_files"]

ENGINE_MEMORY_BYTES = 8 << 30
ENGINE_CPU_S = 300

_COUNTED = ("body", "joint", "freejoint", "geom", "site", "camera", "light", "mesh", "motor")
_DIRECTORIES = {
    "mesh": "meshdir",
    "hfield": "meshdir",
    "skin": "meshdir",
    "flexcomp": "meshdir",
    "texture": "texturedir",
}
_CUBE = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")


def find_mjcf_files(path: Path, check: Check, stop: StopToken) -> tuple[list[Path], dict[str, Any]]:
    """Every file an MJCF model needs, itself first, and what it contains."""
    search = _Search(path.parent, check, stop)
    search.add_document(path)
    search.faults.raise_any(FILE_HINT)
    _try_engine(path, stop)
    return list(search.files), {"elements": dict(sorted(search.counts.items()))}


class _Search:
    """The files of a model, found document by document; all of them lie below `root`."""

    def __init__(self, root: Path, check: Check, stop: StopToken) -> None:
        self.root = root
        self.check = check
        self.stop = stop
        self.faults = Faults()
        self.files: dict[Path, None] = {}
        self.counts: Counter[str] = Counter()

    def add_document(self, path: Path) -> None:
        """A model with what it includes, and what these name."""
        elements: list[tuple[Path, Element]] = []
        self._add_part(path, path.parent, [], elements)
        compilers = [element.attributes for _, element in elements if element.tag == "compiler"]
        directories = {"meshdir": "", "texturedir": ""}
        strips = False
        for compiler in compilers:  # order: as MuJoCo reads them, so that the last one counts
            for name in directories:
                if "assetdir" in compiler:
                    directories[name] = compiler["assetdir"]
                directories[name] = compiler.get(name, directories[name])
            strips = compiler.get("strippath", str(strips)).lower() == "true"
        for file, element in elements:
            if element.tag in _COUNTED:
                self.counts[element.tag] += 1
            for attribute in ("file", *(_CUBE if element.tag == "texture" else ())):
                written = element.attributes.get(attribute)
                if written is None or element.tag in ("include", "flag", "plugin"):
                    continue
                if strips:
                    written = written.replace("\\", "/").rsplit("/", 1)[-1]
                directory = directories.get(_DIRECTORIES.get(element.tag, ""), "")
                found = self._find(file, element, Path(directory) / written, path.parent)
                self._add_file(found, file, element)

    def _add_part(
        self,
        path: Path,
        base: Path,
        including: list[Path],
        elements: list[tuple[Path, Element]],
    ) -> None:
        """The elements of a file, with those of a file it includes where it does."""
        root = read_xml(path, self.stop)
        self.files[path] = None
        if root.tag not in (("mujoco",) if not including else ("mujoco", "mujocoinclude")):
            self.faults.add(
                path, root.line, f"the root element is <{root.tag}>, and should be <mujoco>"
            )
            return
        including = [*including, path]
        for element in root.walk():
            elements.append((path, element))
            name = element.attributes.get("file")
            if element.tag != "include" or name is None:
                continue
            found = self._find(path, element, Path(name), base)
            if found in including:
                self.faults.add(path, element.line, f"{name} includes itself")
            elif found is not None and found not in self.files:
                self._add_part(found, base, including, elements)

    def _add_file(self, found: Path | None, file: Path, element: Element) -> None:
        if found is None or found in self.files:
            return
        if element.tag == "model":
            self.add_document(found)
        else:
            self.files[found] = None
            check_file(found, self.check, self.faults.at(file, element))

    def _find(self, file: Path, element: Element, name: Path, base: Path) -> Path | None:
        """`name` as seen from the document's folder, or else what the element says as seen from
        its file."""
        beside = element.attributes.get("file")
        if not (base / name).is_file() and beside and (file.parent / beside).is_file():
            base, name = file.parent, Path(beside)
        return find_inside(self.root, base, name, self.faults.at(file, element))


_ENGINE = """
import resource, sys
memory, cpu = int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import mujoco
try:
    mujoco.MjModel.from_xml_path(sys.argv[1])
except Exception as error:
    print(error)
    sys.exit(3)
"""


def _try_engine(path: Path, stop: StopToken) -> None:
    """What only the engine can know; skipped where it is not installed."""
    if importlib.util.find_spec("mujoco") is None or not sys.executable:
        return
    limits = [str(ENGINE_MEMORY_BYTES), str(ENGINE_CPU_S)]
    # In a folder of its own: the engine leaves a log of its warnings where it runs.
    with (
        tempfile.TemporaryDirectory(prefix="mainspring-") as folder,
        subprocess.Popen(
            [sys.executable, "-P", "-c", _ENGINE, str(path), *limits],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in a terminal is for the job, which then ends it
        ) as engine,
        stop.on_stop(engine.kill),
    ):
        said, trouble = engine.communicate()
    stop.checkpoint()
    if engine.returncode == 0:
        return
    if engine.returncode == 3:
        raise AssetError(
            f"{path}: MuJoCo does not load it: {said.decode(errors='replace').strip()}"
        )
    if engine.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        why = f"took more than {ENGINE_CPU_S} s"
    else:
        last = trouble.decode(errors="replace").strip().rpartition("\n")[2]
        why = f"ended with {engine.returncode}{': ' if last else ''}{last}"
    raise AssetError(
        f"{path}: MuJoCo {why} on it",
        hint="look for counts and sizes that are far too large",
    )
