"""Scripts that change while their scene runs: taken over whole, or not at all."""

from __future__ import annotations

import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mainspring import Rate, Scene, TimeMode
from mainspring.project import Reload, ReloadError, ScriptReloader
from mainspring.threads import Application, Change, ChangeKind, WrongThreadError
from mainspring.world import record, replay

from .conftest import on_thread

FIRST = """
from mainspring import Script

class Arm(Script):
    def __init__(self):
        self.angle = 0
        self.old = "kept until it goes"
    def on_update(self, ts):
        self.angle += 1
"""

SECOND = """
from mainspring import Script

class Arm(Script):
    def __init__(self):
        self.angle = 0
        self.speed = 10
    def on_update(self, ts):
        self.angle += self.speed
    def on_late_update(self, ts):
        self.speed += 1
"""


class Workbench:
    """A scripts folder whose modules are forgotten at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []
        self.told: list[Reload] = []
        self.errors: list[ReloadError] = []

    def write(self, source: str, name: str = "reload_arm") -> Path:
        path = self.folder / f"{name}.py"
        path.write_text(textwrap.dedent(source))
        if name not in self.names:
            self.names.append(name)
        return path

    def scene(self, *classes: str) -> tuple[Scene, ScriptReloader]:
        import importlib

        importlib.invalidate_caches()
        scene = Scene("bench", seed=3)
        for each in classes or ("reload_arm:Arm",):
            module, _, name = each.partition(":")
            scene.add(getattr(importlib.import_module(module), name)())
        reloader = ScriptReloader(
            scene, self.folder, on_reload=self.told.append, on_error=self.errors.append
        )
        return scene, reloader

    def forget(self) -> None:
        for name in self.names:
            sys.modules.pop(name, None)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    folder = tmp_path / "scripts"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = Workbench(folder)
    made.write(FIRST)
    yield made
    made.forget()


def test_new_code_takes_over_with_the_state_it_accepts(bench: Workbench) -> None:
    scene, reloader = bench.scene()
    arm: Any = scene.scripts["Arm"]
    scene.advance(steps=3, runner="Robot")
    assert arm.angle == 3
    bench.write(SECOND)
    assert reloader.reload() is not None
    assert arm.angle == 3, "nothing happens between two instants"
    scene.advance(steps=2, runner="Robot")
    # A callback that was not there before begins an instant later, as every registration.
    assert (arm.angle, arm.speed) == (3 + 10 + 10, 11), "the same object, its state, the new code"
    assert not hasattr(arm, "old")
    assert bench.told == [
        Reload(("reload_arm",), ("Arm",), fresh=("Arm.speed",), dropped=("Arm.old",))
    ]
    assert reloader.reload() is None, "nothing differs from what runs"


def test_a_reload_is_an_input(bench: Workbench) -> None:
    scene, reloader = bench.scene()
    bench.write(SECOND)
    reloader.reload()
    assert scene.inbox.pending == 1
    scene.advance(instants=1)
    assert scene.inbox.pending == 0


@pytest.mark.parametrize(
    ("source", "line", "why"),
    [
        ("def broken(:\n", 1, "SyntaxError"),
        ("from mainspring import Script\n\n1 // 0\n", 3, "ZeroDivisionError"),
        ("from mainspring import Script\n", 1, "not there any more"),
        ("import no_such_module\n", 1, "ModuleNotFoundError"),
        (
            "from mainspring import Script\nclass Arm(Script):\n    def __init__(self):\n"
            "        raise ValueError('no motor')\n",
            4,
            "no motor",
        ),
    ],
)
def test_an_error_in_the_new_code_leaves_the_old_running(
    bench: Workbench, source: str, line: int, why: str
) -> None:
    """Shown with its place; the next, correct version is taken over."""
    scene, reloader = bench.scene()
    arm: Any = scene.scripts["Arm"]
    before = sys.modules["reload_arm"]
    path = bench.write(source)
    reloader.reload()
    scene.advance(steps=2, runner="Robot")
    assert arm.angle == 2
    assert sys.modules["reload_arm"] is before
    (error,) = bench.errors
    assert f"{path}:{line}: " in str(error)
    assert why in str(error)
    bench.write(SECOND)
    reloader.reload()
    scene.advance(steps=1, runner="Robot")
    assert arm.angle == 12


def test_scripts_keep_their_place_in_every_order(bench: Workbench) -> None:
    source = """
    from mainspring import Script
    SEEN = []
    class A(Script):
        def on_update(self, ts):
            self.scene.seen.append("A{}")
    class B(Script):
        def on_update(self, ts):
            self.scene.seen.append("B{}")
    """

    class Seen(list[str]):
        pass

    bench.write(source.replace("{}", "1"))
    scene, reloader = bench.scene("reload_arm:A", "reload_arm:B")
    seen = Seen()
    scene.attach("seen", seen)
    scene.advance(steps=1, runner="Robot")
    bench.write(source.replace("{}", "2"))
    reloader.reload()
    scene.advance(steps=1, runner="Robot")
    assert seen == ["A1", "B1", "A2", "B2"]


def test_callbacks_come_and_go(bench: Workbench) -> None:
    scene, reloader = bench.scene()
    arm: Any = scene.scripts["Arm"]
    order = [entry.name for entry in scene.time.execution_order()]
    assert order == ["Arm.on_update"]
    bench.write(SECOND)
    reloader.reload()
    scene.advance(steps=2, runner="Robot")
    assert [e.name for e in scene.time.execution_order()] == ["Arm.on_update", "Arm.on_late_update"]
    bench.write(FIRST)
    reloader.reload()
    scene.advance(steps=2, runner="Robot")
    assert [e.name for e in scene.time.execution_order()] == ["Arm.on_update"]
    assert arm.old == "kept until it goes"


def test_a_class_with_its_own_restore_decides(bench: Workbench) -> None:
    own = """
    from mainspring import Script
    class Arm(Script):
        def __init__(self):
            self.angle = 100
        def save(self):
            return self.angle
        def restore(self, state):
            if not isinstance(state, dict):
                raise TypeError("a dict, please")
            self.angle = state["angle"] * 2
        def on_update(self, ts):
            pass
    """
    scene, reloader = bench.scene()
    arm: Any = scene.scripts["Arm"]
    scene.advance(steps=3, runner="Robot")
    bench.write(own)
    reloader.reload()
    scene.advance(steps=1, runner="Robot")
    assert arm.angle == 6
    bench.write(own.replace("100", "7"))
    reloader.reload()
    scene.advance(steps=1, runner="Robot")
    assert arm.angle == 7, "it did not accept what it had saved, and began anew"
    assert bench.told[-1].fresh == ("Arm.*",)


def test_arguments_nobody_kept_are_not_asked_for(bench: Workbench) -> None:
    source = """
    from mainspring import Script
    class Arm(Script):
        def __init__(self, length=1):
            self.length = length
            self.angle = 0
        def on_update(self, ts):
            self.angle += self.length
    """
    bench.write(source)
    scene, reloader = bench.scene()
    arm: Any = scene.scripts["Arm"]
    arm.length = 5
    bench.write(source.replace("length=1", "length").replace("+=", "-="))
    reloader.reload()
    scene.advance(steps=2, runner="Robot")
    assert (arm.length, arm.angle) == (5, -10)


def test_what_a_script_uses_is_reloaded_with_it(bench: Workbench) -> None:
    """A change in a helper reaches the scripts that imported from it, all at one instant."""
    bench.write("GAIN = 1\n", "reload_gains")
    bench.write(
        """
        from reload_gains import GAIN
        from mainspring import Script
        import reload_gains
        class Arm(Script):
            def __init__(self):
                self.angle = 0
            def on_update(self, ts):
                self.angle += GAIN
        """
    )
    scene, reloader = bench.scene()
    arm: Any = scene.scripts["Arm"]
    scene.advance(steps=1, runner="Robot")
    bench.write("GAIN = 100\n", "reload_gains")
    reloader.reload()
    scene.advance(steps=1, runner="Robot")
    assert arm.angle == 101
    assert bench.told[-1].modules == ("reload_gains", "reload_arm")


def test_a_snapshot_brings_its_code_back(bench: Workbench) -> None:
    scene, reloader = bench.scene()
    arm: Any = scene.scripts["Arm"]
    scene.advance(steps=3, runner="Robot")
    before, digest = scene.save(), scene.hash()
    bench.write(SECOND)
    reloader.reload()
    scene.advance(steps=3, runner="Robot")
    after, later = scene.save(), scene.hash()
    assert digest != later
    scene.restore(before)
    assert scene.hash() == digest
    assert (arm.angle, arm.old) == (3, "kept until it goes")
    scene.advance(steps=1, runner="Robot")
    assert arm.angle == 4
    scene.restore(after)
    assert scene.hash() == later
    scene.advance(steps=1, runner="Robot")
    assert arm.speed == 13


def test_the_watcher_raises_the_flag_and_the_application_reloads(bench: Workbench) -> None:
    """From the file to the running scene, with the real watcher, beside a rendering loop."""
    scene, reloader = bench.scene()
    scene.time.mode = TimeMode.SIM_HIGH_PERFORMANCE
    app = Application(scene, frame_rate=None)
    app.add_watcher(reloader.watcher, reloader.on_change)
    app.add_poll(lambda: app.stop() if bench.told else None)
    reloader.watcher._began.wait()
    path = bench.write(SECOND)
    report = app.run(seconds=30)
    assert report.reason == "stopped", f"{path} was not seen"
    assert bench.told[0].scripts == ("Arm",)


def test_only_the_scenes_thread_reloads(bench: Workbench) -> None:
    _, reloader = bench.scene()
    change = Change(bench.folder / "reload_arm.py", ChangeKind.MODIFIED)
    with pytest.raises(WrongThreadError, match="do the reload"):
        on_thread(lambda: reloader.on_change([change]), "watcher")


def build_for_replay(bench: Workbench) -> Callable[[], Scene]:
    def build() -> Scene:
        scene, _ = bench.scene()
        scene.inbox.route("push", lambda given: None)
        return scene

    return build


def test_hot_reload_under_load_replays_identically(bench: Workbench, tmp_path: Path) -> None:
    """Forty versions, every seventh broken, while other threads flood the inbox: the log alone
    gives the same run again, whatever the files say by then."""
    scene = build_for_replay(bench)()
    reloader: ScriptReloader = scene.reloads
    ended = threading.Event()

    def flood() -> None:
        number = 0
        while not ended.is_set() and number < 2000:
            scene.inbox.put("push", number)
            number += 1

    with record(scene, tmp_path / "run.world", hash_every="instant", durability="none"):
        threads = [threading.Thread(target=flood) for _ in range(2)]
        for thread in threads:
            thread.start()
        for version in range(40):
            source = SECOND.replace("= 10", f"= {version}").replace("+= 1", f"+= {version % 3}")
            bench.write("def broken(:" if version % 7 == 6 else source)
            reloader.reload()
            scene.advance(instants=3)
        ended.set()
        for thread in threads:
            thread.join()
        scene.advance(instants=3)
    assert len(bench.told) == 35
    assert len(bench.errors) == 5
    arm: Any = scene.scripts["Arm"]
    angle = arm.angle

    bench.write(FIRST.replace("+= 1", "+= 1000"))
    report = replay(tmp_path / "run.world", build=build_for_replay(bench))
    assert report.identical, str(report)
    assert len(bench.told) == 70
    assert angle > 0


SETTINGS = """
[scene]
name = "bench"

[[runner]]
name = "Robot"
rate = 50

[[runner]]
name = "Capture"
rate = 30
"""


def test_settings_change_live_or_not_at_all(tmp_path: Path) -> None:
    """Every fault of a wrong file is told and nothing changes; a good one is an input."""
    from mainspring.project import SettingsReload, SettingsReloader
    from mainspring.scene import load_scene

    path = tmp_path / "main.toml"
    path.write_text(SETTINGS)
    scene = load_scene(path)
    errors: list[Any] = []
    reloader = SettingsReloader(scene, path, on_error=errors.append)
    scene.advance(seconds=0.1)
    path.write_text(SETTINGS.replace("rate = 50", "rate = -1").replace("name", "nme"))
    assert reloader.reload() is None
    assert "main.toml" in str(errors[0])
    assert scene.time.runners["Robot"].rate == Rate(50)
    path.write_text(
        SETTINGS.replace("rate = 50", "rate = 100").replace('"bench"', '"other"')
        + '\n[[runner]]\nname = "Lidar"\nrate = 10\n[bindings.on_update]\npriority = -5\n'
    )
    assert reloader.reload() is not None
    assert reloader.reload() is None, "the same file again"
    assert scene.time.runners["Robot"].rate == Rate(50), "nothing before the next instant"
    scene.advance(seconds=0.1)
    assert reloader.reloads == [
        SettingsReload(
            ("runner Robot", "runner Lidar", "bindings.on_update.priority"), ("scene.name",)
        )
    ]
    assert [(r.name, r.rate) for r in scene.time.runners] == [
        ("Robot", Rate(100)),
        ("Capture", Rate(30)),
        ("Lidar", Rate(10)),
    ]
    assert scene.bindings["on_update"].priority == -5


def test_a_runner_in_use_stays(tmp_path: Path) -> None:
    from mainspring.project import SettingsReloader
    from mainspring.scene import load_scene

    path = tmp_path / "main.toml"
    path.write_text(SETTINGS)
    scene = load_scene(path)
    scene.time.register(lambda context: None, runner="Capture")
    reloader = SettingsReloader(scene, path, on_error=lambda error: None)
    path.write_text(SETTINGS[: SETTINGS.index('[[runner]]\nname = "Capture')])
    reloader.reload()
    scene.advance(seconds=0.1)
    assert "'Capture' cannot go" in str(reloader.errors[0])
    assert [r.name for r in scene.time.runners] == ["Robot", "Capture"]


def test_hot_reload_from_a_scene_file_replays_by_its_recipe(
    bench: Workbench, tmp_path: Path
) -> None:
    """The scene file asks for it; a run with changed files replays from its log alone."""
    from mainspring.project import HotReload
    from mainspring.scene import load_scene

    path = tmp_path / "main.toml"
    path.write_text(
        SETTINGS
        + f"""
[[subsystem]]
type = "mainspring.project:HotReload"
args = {{ scripts = ["{bench.folder}"], settings = "{path}" }}

[[script]]
type = "reload_arm:Arm"
name = "arm"
"""
    )
    scene = load_scene(path)
    hot: Any = next(iter(scene.subsystems.values()))
    assert isinstance(hot, HotReload)
    assert hot.scripts is not None
    assert hot.settings is not None
    with record(scene, tmp_path / "run.world", hash_every="instant", durability="none"):
        scene.advance(seconds=0.2)
        bench.write(SECOND)
        hot.scripts.reload()
        path.write_text(path.read_text().replace("rate = 50", "rate = 200"))
        hot.settings.reload()
        scene.advance(seconds=0.2)
    scene.stop()
    arm: Any = scene.scripts["arm"]
    assert arm.speed > 10
    report = replay(tmp_path / "run.world")
    assert report.identical, str(report)


EDITS = {
    "a binding": ("[bindings.on_update]\npriority = 7\n", "bindings.on_update.priority"),
    "a runner for it": ('[bindings.on_update]\nrunner = "Capture"\n', "bindings.on_update.runner"),
    "a new runner for it": (
        '[[runner]]\nname = "Lidar"\nrate = 7\n[bindings.on_update]\nrunner = "Lidar"\n',
        "runner Lidar",
    ),
    "it is off": ("[bindings.on_update]\nenabled = false\n", "bindings.on_update.enabled"),
}


@pytest.mark.filterwarnings("ignore:script 'Arm' overrides on_update, which is off")
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("left_as", ["edited", "as it was", "something else"])
def test_changed_settings_replay_whatever_the_file_says_by_then(
    edit: str, left_as: str, bench: Workbench, tmp_path: Path
) -> None:
    """Which settings are in force is state: an edit, the edit taken back, and the edit again."""
    import importlib

    from mainspring.project import SettingsReloader
    from mainspring.scene import load_scene

    path = tmp_path / "main.toml"
    added, name = EDITS[edit]

    def build() -> Scene:
        scene = load_scene(path)
        SettingsReloader(scene, path)
        scene.add(importlib.import_module("reload_arm").Arm())
        return scene

    path.write_text(SETTINGS)
    scene = build()
    reloader: SettingsReloader = scene.settings_in_force
    with record(scene, tmp_path / "run.world", hash_every="instant", durability="none"):
        for text in (SETTINGS + added, SETTINGS, SETTINGS + added):
            scene.advance(seconds=0.3)
            path.write_text(text)
            assert reloader.reload() is not None
        scene.advance(seconds=0.3)
    assert [name in done.changed for done in reloader.reloads] == [True] * 3
    assert scene.save() != build().save()
    if left_as != "edited":
        path.write_text(SETTINGS if left_as == "as it was" else SETTINGS + "# other\n")
    assert replay(tmp_path / "run.world", build=build).identical
    other = build()
    other.restore(scene.save())
    assert other.hash() == scene.hash()
    assert repr(list(other.bindings)) == repr(list(scene.bindings))


def test_an_edit_that_finds_no_room_changes_nothing(tmp_path: Path) -> None:
    """All of a file is taken over, or none of it."""
    from mainspring.project import SettingsReloader
    from mainspring.scene import load_scene

    path = tmp_path / "main.toml"
    path.write_text(SETTINGS)
    scene = load_scene(path)
    reloader = SettingsReloader(scene, path, on_error=lambda error: None)
    for number in range(6):
        scene.time.runners.add(f"mine {number}", 5)
    before = scene.save()["clock"]
    path.write_text(
        SETTINGS.replace("rate = 50", "rate = 60")
        + '[[runner]]\nname = "Lidar"\nrate = 10\n[bindings.on_update]\npriority = 9\n'
    )
    reloader.reload()
    scene._started = True
    reloader._apply(scene.inbox.waiting[0])
    assert "1 more runners and the 8 that run" in str(reloader.errors[0])
    assert scene.save()["clock"] == before
    assert scene.bindings["on_update"].priority == -200


def test_a_runner_and_what_runs_on_it_move_in_one_edit(bench: Workbench, tmp_path: Path) -> None:
    import importlib

    from mainspring.project import SettingsReloader
    from mainspring.scene import load_scene

    path = tmp_path / "main.toml"
    path.write_text(SETTINGS + '[bindings.on_update]\nrunner = "Capture"\n')
    scene = load_scene(path)
    scene.add(importlib.import_module("reload_arm").Arm())
    reloader = SettingsReloader(scene, path)
    path.write_text(
        SETTINGS.replace("Capture", "Camera") + '[bindings.on_update]\nrunner = "Camera"\n'
    )
    reloader.reload()
    scene.advance(seconds=0.1)
    assert reloader.errors == []
    assert [runner.name for runner in scene.time.runners] == ["Robot", "Camera"]
    (registration,) = scene.time.registrations
    assert registration.runner.name == "Camera"


def test_hot_reload_finds_its_project_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths in a scene file are the project's, whichever folder the run is started from; scripts,
    settings and assets are all looked at."""
    from mainspring.project import HotReload, ImportAssetsJob, Project
    from mainspring.scene import load_scene

    project = Project.create(tmp_path / "cell")
    (tmp_path / "part.obj").write_text(MESH)
    job = ImportAssetsJob.start(project.assets, tmp_path / "part.obj")
    job.join()
    job.take_result()
    path = project.root / "scenes" / "main.toml"
    path.write_text(
        SETTINGS
        + """
[[subsystem]]
type = "mainspring.project:HotReload"
args = { scripts = ["scripts"], settings = "scenes/main.toml", assets = "assets" }
"""
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    scene = load_scene(path)
    hot: Any = next(iter(scene.subsystems.values()))
    assert isinstance(hot, HotReload)
    assert hot.scripts is not None
    assert hot.settings is not None
    assert hot.assets is not None
    assert hot.scripts.folders == (project.root / "scripts",)
    heard: list[Any] = []
    hot.assets.subscribe("part", lambda asset: heard.append(asset["info"]["faces"]))
    scene.time.mode = TimeMode.SIM_HIGH_PERFORMANCE
    scene.frame(0)
    for reloader in (hot.scripts, hot.settings, hot.assets):
        reloader.watcher._began.wait()
    path.write_text(path.read_text().replace("rate = 50", "rate = 200"))
    project.assets.path("part").write_text(MESH + "f 3 2 1\n")
    for _ in range(1_000_000):
        scene.frame(1_000_000)
        if heard and hot.settings.reloads:
            break
    scene.stop()
    assert heard == [2]
    assert hot.settings.reloads[0].changed == ("runner Robot",)


def test_a_run_goes_on_without_a_folder_to_watch(
    bench: Workbench, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, and the frames go on."""
    from mainspring.project import HotReload

    scene = Scene(mode=TimeMode.SIM_HIGH_PERFORMANCE)
    scene.add(HotReload([bench.folder / "nowhere"]))
    for _ in range(3):
        scene.frame(100_000_000)
    scene.stop()
    assert caplog.text.count("nothing to watch at") == 1


def test_a_stopped_scene_that_starts_again_watches_again(bench: Workbench) -> None:
    from mainspring.project import HotReload

    scene = Scene(mode=TimeMode.SIM_HIGH_PERFORMANCE)
    hot = scene.add(HotReload([bench.folder]))
    for _ in range(2):
        scene.frame(0)
        assert hot.scripts is not None
        assert hot.scripts.watcher._thread.is_alive()
        scene.stop()


MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def test_hot_reload_looks_before_every_frame(bench: Workbench) -> None:
    """With the real watcher, and nobody but the scene's own frames to look."""
    import importlib

    from mainspring.project import HotReload

    scene = Scene(mode=TimeMode.SIM_HIGH_PERFORMANCE)
    hot = scene.add(HotReload([bench.folder]))
    importlib.invalidate_caches()
    arm: Any = scene.add(importlib.import_module("reload_arm").Arm())
    assert hot.scripts is not None
    scene.frame(0)
    hot.scripts.watcher._began.wait()
    bench.write(SECOND)
    for _ in range(1_000_000):
        scene.frame(1_000_000)
        if hot.scripts.reloads:
            break
    assert arm.speed >= 10
    scene.stop()


def test_a_changed_asset_is_read_before_anybody_hears_of_it(tmp_path: Path) -> None:
    """Damaged: shown, and the registry keeps what it had. Whole: an input for the subscribers."""
    from mainspring.project import AssetRegistry, AssetReloader, ImportAssetsJob

    mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    (tmp_path / "part.obj").write_text(mesh)
    registry = AssetRegistry(tmp_path / "assets")
    job = ImportAssetsJob.start(registry, tmp_path / "part.obj")
    job.join()
    job.take_result()
    scene = Scene()
    reloader = AssetReloader(scene, registry, on_error=lambda error: None)
    heard: list[Any] = []
    reloader.subscribe("part", lambda asset: heard.append(asset["info"]["faces"]))
    path = registry.path("part")
    before = registry["part"]

    def change(text: str) -> None:
        path.write_text(text)
        reloader.on_change([Change(path, ChangeKind.MODIFIED)])
        assert reloader._job is not None
        reloader._job.join()
        reloader.poll()
        scene.advance(instants=1)

    change("v 0 0 zero\n")
    assert "part.obj:1: " in str(reloader.errors[0])
    assert registry["part"] == before
    assert heard == []
    change(mesh)
    assert heard == [], "as it was: nothing to hear"
    change(mesh + "f 3 2 1\n")
    assert heard == [2]
    assert AssetRegistry(registry.folder).verify() == []
    reloader.on_change([Change(tmp_path / "elsewhere", ChangeKind.ADDED)])
    assert reloader._job is None
    reloader.close()


IN_PACKAGE = """
from mainspring import Script
from . import reload_gear

class Wheel(Script):
    def __init__(self):
        self.angle = 0
    def on_update(self, ts):
        self.angle += reload_gear.RATIO
"""


@pytest.mark.parametrize("left_as", ["broken", "gone", "something else"])
def test_a_replay_needs_none_of_the_files(left_as: str, bench: Workbench, tmp_path: Path) -> None:
    """What a script imports when it is reloaded, and no code before it did, is in the log too."""
    from mainspring.scene import load_scene

    package = bench.folder / "reload_robot"
    package.mkdir()
    (package / "__init__.py").touch()
    bench.names += ["reload_robot", "reload_robot.wheel", "reload_robot.reload_gear"]
    bench.names += ["reload_new", "reload_newer"]
    (package / "reload_gear.py").write_text("RATIO = 2\n")
    (package / "wheel.py").write_text(IN_PACKAGE)
    path = tmp_path / "main.toml"
    path.write_text(
        SETTINGS
        + f"""
[[subsystem]]
type = "mainspring.project:HotReload"
args = {{ scripts = ["{bench.folder}"] }}

[[script]]
type = "reload_arm:Arm"
name = "arm"

[[script]]
type = "reload_robot.wheel:Wheel"
name = "wheel"
"""
    )
    scene = load_scene(path)
    hot: Any = next(iter(scene.subsystems.values()))
    with record(scene, tmp_path / "run.world", hash_every="instant", durability="none"):
        scene.advance(seconds=0.2)
        bench.write("from reload_newer import GAIN", "reload_new")
        bench.write("GAIN = 1000", "reload_newer")
        bench.write(
            SECOND.replace("= 10", "= reload_new.GAIN").replace("\nf", "\nimport reload_new\nf", 1)
        )
        (package / "reload_gear.py").write_text("RATIO = 300\n")
        hot.scripts.reload()
        scene.advance(seconds=0.2)
        assert not hot.scripts.errors
    scene.stop()
    arm: Any = scene.scripts["arm"]
    wheel: Any = scene.scripts["wheel"]
    assert arm.speed >= 1000
    assert wheel.angle > 300
    bench.forget()
    for file in bench.folder.rglob("*.py"):
        if left_as == "gone":
            file.unlink()
        else:
            file.write_text("def broken(:" if left_as == "broken" else "GAIN = RATIO = 5\n")
    report = replay(tmp_path / "run.world")
    assert report.identical, str(report)
