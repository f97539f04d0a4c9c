"""Changing scripts while their scene runs.

The promise: a changed file becomes an input, with its text in it; at the next instant the new
code takes over, all of it or none. A script keeps its place in every order and the state that
its new class accepts. Code that does not run, or lost a class that is in use, leaves what ran
before running, and is shown with file and line. Because the text is in the input, the log has
it, and a replay takes the same code over at the same instant whatever the files say by then.

    reloader = ScriptReloader(scene, project.root / "scripts")
    app.add_watcher(reloader.watcher, reloader.on_change)
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from mainspring.clock import Input, Registration
from mainspring.project._code import (
    ModuleSource,
    dependents,
    in_order,
    install,
    modules_below,
    newly_imported,
    place_of,
    run_sources,
)
from mainspring.project.errors import ReloadError
from mainspring.scene import Scene, Script
from mainspring.threads import Change, ChangeKind, FileWatcher, assert_owner

__all__ = ["INPUT_KIND", "Reload", "ScriptReloader"]

INPUT_KIND = "reload"

_log = logging.getLogger("mainspring.project")

_OWN = ("name", "_scene")
"""What the framework keeps on a script, which is not the script's state."""


class Reload(msgspec.Struct, frozen=True):
    """What one reload did."""

    modules: tuple[str, ...]
    scripts: tuple[str, ...]
    """The scripts that run new code now."""
    fresh: tuple[str, ...] = ()
    """State that begins anew, as `script.attribute`: the old one had none, or it was refused."""
    dropped: tuple[str, ...] = ()
    """State that the new class has no place for, as `script.attribute`."""


class ScriptReloader:
    """Takes changed modules of one scene's scripts over. A part of the scene's state: which code
    runs is what `save` gives."""

    carries_code = True
    """A replay begins with the code of the log, not with what the files say by then."""

    def __init__(
        self,
        scene: Scene,
        *folders: str | os.PathLike[str],
        on_reload: Callable[[Reload], object] | None = None,
        on_error: Callable[[ReloadError], object] | None = None,
    ) -> None:
        self.scene = scene
        self.folders = tuple(Path(folder).resolve() for folder in folders)
        self.on_reload = on_reload or _tell
        self.on_error = on_error or _warn
        self.reloads: list[Reload] = []
        self.errors: list[ReloadError] = []
        self._owner = threading.get_ident()
        self._watcher: FileWatcher | None = None
        self._sources: dict[str, ModuleSource] = {}  # state: what ran at the start, and reloads
        self._late: dict[str, ModuleSource] = {}  # imported since, and not state before a reload
        self._remember(self._sources)
        scene.inbox.route(INPUT_KIND, self._take_over)
        scene.attach("reloads", self)
        # Restored before the scripts, so that their state meets the class that wrote it.
        scene._parts = {"reloads": self, **{k: v for k, v in scene._parts.items() if v is not self}}

    @property
    def watcher(self) -> FileWatcher:
        """A watcher of the folders, begun at the first look."""
        if self._watcher is None:
            self._watcher = FileWatcher(*self.folders, suffixes=(".py",), wait=False)
        return self._watcher

    def on_change(self, changes: Iterable[Change]) -> int | None:
        """Between two frames: put what changed into the inbox; the input's number, if it is one."""
        assert_owner(self._owner, "ScriptReloader.on_change", what="reloader")
        changed = {c.path.resolve() for c in changes if c.kind is not ChangeKind.DELETED}
        return self.reload(*changed)

    def reload(self, *paths: str | os.PathLike[str]) -> int | None:
        """Reload these files, or all that differ from what runs; the number of the input."""
        self._remember(self._late if self.scene.started else self._sources)
        running = {
            **self._sources,
            **{k: v for k, v in self._late.items() if k not in self._sources},
        }
        wanted = {Path(path).resolve() for path in paths}
        texts: dict[str, ModuleSource] = {}
        for name, known in running.items():
            try:
                source = Path(known.path).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                if Path(known.path) in wanted:
                    self._fail(ReloadError(f"{known.path} cannot be read: {error}"))
                continue
            texts[name] = ModuleSource(name, known.path, source)
        changed = {
            name
            for name, text in texts.items()
            if text.source != running[name].source and (not wanted or Path(text.path) in wanted)
        }
        if not changed:
            return None
        affected = [n for n in dependents(changed, list(running)) if n in texts]
        sources = {n: texts[n] if n in changed else running[n] for n in affected}
        sources |= newly_imported(sources.values(), self.folders)
        payload = [msgspec.to_builtins(each) for each in in_order(sources)]
        return self.scene.inbox.put(INPUT_KIND, {"modules": payload}, source="reloader")

    def save(self) -> list[dict[str, str]]:
        """The code that runs: every module's text."""
        if not self.scene.started:
            self._remember(self._sources)
        return [msgspec.to_builtins(source) for source in self._sources.values()]

    def sources(self) -> list[dict[str, str]]:
        """The same, for a log to build the scene with when the files say something else."""
        return self.save()

    def restore(self, state: list[dict[str, str]]) -> None:
        """Let the code run that ran when `state` was saved."""
        saved = {each["module"]: ModuleSource(**each) for each in state}
        different = [s for name, s in saved.items() if self._sources.get(name) != s]
        if different:
            self._swap(run_sources(different), keep_state=True)
        self._sources = saved

    def close(self) -> None:
        """Stop watching."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    # inside: at the start of an instant, on the scene's thread

    def _take_over(self, given: Input) -> None:
        sources = [ModuleSource(**each) for each in given.payload["modules"]]
        before = {s.module: sys.modules.get(s.module) for s in sources}
        try:
            made = run_sources(sources)
            fresh, dropped, swapped = self._swap(made)
        except ReloadError as error:
            install(before)
            self._fail(error)
            return
        self._sources.update((source.module, source) for source in sources)
        done = Reload(tuple(made), tuple(swapped), tuple(fresh), tuple(dropped))
        self.reloads.append(done)
        self.on_reload(done)

    def _swap(
        self, made: dict[str, ModuleType], *, keep_state: bool = False
    ) -> tuple[list[str], list[str], list[str]]:
        """Every script of these modules gets its new class; prepared for all before any has it."""
        fresh: list[str] = []
        dropped: list[str] = []
        prepared: list[tuple[Script, type[Script], dict[str, Any]]] = []
        # order: scripts as they were added
        for script in self.scene.scripts.values():
            module = made.get(type(script).__module__)
            if module is None:
                continue
            new = _new_class(script, module)
            if keep_state:
                prepared.append((script, new, dict(vars(script))))
                continue
            attributes, began, lost = _carried_over(script, new)
            fresh += [f"{script.name}.{name}" for name in began]
            dropped += [f"{script.name}.{name}" for name in lost]
            prepared.append((script, new, attributes))
        swapped: list[tuple[Script, type[Script], dict[str, Any]]] = []
        try:
            for script, new, attributes in prepared:
                swapped.append((script, type(script), dict(vars(script))))
                script.__class__ = new
                vars(script).clear()
                vars(script).update(attributes)
        except TypeError as error:
            for script, old, attributes in swapped:
                script.__class__ = old
                vars(script).clear()
                vars(script).update(attributes)
            raise ReloadError(
                f"{new.__module__}.{new.__qualname__} cannot replace its old self: {error}",
                hint="__slots__ and base classes with a layout of their own cannot change live",
            ) from error
        for script, _, _ in prepared:
            self._rebind(script)
        return fresh, dropped, [script.name for script, _, _ in prepared]

    def _rebind(self, script: Script) -> None:
        """The registrations keep their place in every order, and call the new code."""
        scene = self.scene
        for binding in scene.bindings:
            overrides = getattr(type(script), binding.name) is not getattr(Script, binding.name)
            place = scene._places.get((script.name, binding.name))
            if place is None:
                if overrides:
                    scene._bind(script, binding)
            elif not overrides:
                scene._places.pop((script.name, binding.name)).remove()
            elif isinstance(place, Registration):
                callback = getattr(script, binding.name)
                place._callback = callback
                scene.time._kernel.set_function(place._entry, callback)
            else:
                scene._places.pop((script.name, binding.name)).remove()
                scene._bind(script, binding)

    def _remember(self, into: dict[str, ModuleSource]) -> None:
        """The text of every module of ours that was imported since the last look."""
        for name, path in modules_below(self.folders):
            if name not in self._sources and name not in self._late:
                try:
                    text = path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError):
                    continue
                into[name] = ModuleSource(name, str(path), text)

    def _fail(self, error: ReloadError) -> None:
        self.errors.append(error)
        self.on_error(error)


def _new_class(script: Script, module: ModuleType) -> type[Script]:
    found: Any = module
    qualified = type(script).__qualname__
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, Script)):
        raise ReloadError(
            f"{module.__file__}:1: script {script.name!r} is a {qualified}, which is not there "
            "any more",
            hint="keep the class while a scene uses it, or take the script out of the scene first",
        )
    return found


def _carried_over(script: Script, new: type[Script]) -> tuple[dict[str, Any], list[str], list[str]]:
    """The attributes of the script as its new class wants them; what began anew; what was lost."""
    own = {key: value for key, value in vars(script).items() if key in _OWN}
    try:
        state = script.save()
        replacement = _fresh(script, new)
        vars(replacement).update(own)
        if new.restore is not Script.restore or not isinstance(state, dict):
            try:
                replacement.restore(state)
            except Exception as error:
                _log.warning("%s does not accept its old state: %s", script.name, error)
                vars(replacement).clear()
                vars(replacement).update(vars(_fresh(script, new)), **own)
                return vars(replacement), ["*"], []
            return vars(replacement), [], []
        wanted = {key for key in vars(replacement) if key not in _OWN}
        if not wanted:  # made without its __init__: it accepts all there is
            wanted = set(state)
        kept = {key: value for key, value in state.items() if key in wanted}
        vars(replacement).update(kept)
    except Exception as error:
        path = str(sys.modules[new.__module__].__file__)
        raise ReloadError(
            f"{place_of(error, path)}: {new.__qualname__} cannot be made: "
            f"{type(error).__name__}: {error}",
            hint="what ran before goes on; correct the file and save it again",
        ) from error
    began = [key for key in vars(replacement) if key not in kept and key not in _OWN]
    lost = [key for key in state if key not in kept]
    return vars(replacement), began, lost


def _fresh(script: Script, new: type[Script]) -> Script:
    """An instance of the new class as it begins; without `__init__` where that wants arguments,
    for nobody kept them."""
    import inspect

    try:
        inspect.signature(new).bind()
    except TypeError:
        return new.__new__(new)
    return new()


def _tell(done: Reload) -> None:
    _log.info("reloaded %s", ", ".join(done.modules))


def _warn(error: ReloadError) -> None:
    _log.warning("%s", error)
