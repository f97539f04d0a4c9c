"""The recorder: channels of a scene into one file, each at its own true rate.

The promise: every step of a channel's runner gives one message with that step's exact time,
as the state is at the channel's place in phase and priority. A recorder looks and never
touches: a scene with one hashes, replays and restores like a scene without. What cannot be
written ends the run with an error, and the file is whole up to its last chunk; nothing is
left out in between. The same run gives the same bytes.

    recorder = Recorder("run.mcap")
    recorder.channel("/arm/q", lambda: data.qpos, unit="rad")
    recorder.channel("/imu/gyro", imu, runner="Imu")
    recorder.pose("/tool", lambda: tool_pose)
    scene.add(recorder)

By default channels are sampled by the runner `Capture`, those of a sensor by the sensor's own,
in the phase Export, after everything else of that phase. A recording is of one timeline: where
the clock jumps back (a restored snapshot, a reset), the next file begins, `run-2.mcap` and so
on. A file that is there already is left alone, and the next free number taken, unless
`overwrite` says otherwise; `files` says what the files are called.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mainspring.capture._channel import Channel, sensor_of
from mainspring.capture._channel_list import ChannelList
from mainspring.capture._errors import CaptureError, RecordingError
from mainspring.capture._mcap_writer import Compression
from mainspring.capture._pipe import WhenFull
from mainspring.capture._session import (
    ChannelGroup,
    Session,
    Settings,
    check_settings,
    unique_path,
)
from mainspring.clock import Phase, Registration, Runner, StepContext
from mainspring.scene import Subsystem

if TYPE_CHECKING:
    from mainspring.scene import Scene

__all__ = ["Recorder", "RecorderStatistics"]


class RecorderStatistics:
    """What a recorder has done so far; a snapshot."""

    def __init__(self, files: tuple[Path, ...], size: int, peak_bytes: int, waits: int) -> None:
        self.files = files
        self.size = size
        """Bytes in the present file."""
        self.queue_bytes_max = peak_bytes
        """The most that ever waited to be written."""
        self.waits = waits
        """How often the run waited for the disk."""


class Recorder(ChannelList, Subsystem):
    """Records channels of a scene into an MCAP file, or into Parquet.

    `path` ends in `.mcap`, or in `.parquet` for a table that is made from the recording when
    the scene stops. A chunk holds `chunk_bytes` or `chunk_seconds` of simulation, whichever
    comes first; a crash can cost it, and up to half of the next. At most `queue_bytes` wait for the disk, then
    `when_full` decides: `"wait"` slows the run down, `"error"` ends it.
    """

    watching: ClassVar[bool] = True
    default_runner: str | int = "Capture"
    default_phase: ClassVar[Phase] = Phase.EXPORT
    default_priority: ClassVar[int] = 1000

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        channels: Iterable[Mapping[str, Any]] = (),
        compression: Compression = "zstd",
        chunk_bytes: int = 4 << 20,
        chunk_seconds: float = 1.0,
        queue_bytes: int = 64 << 20,
        when_full: WhenFull = "wait",
        overwrite: bool = False,
        durable: bool = True,
    ) -> None:
        self.path = Path(path)
        if self.path.suffix not in (".mcap", ".parquet"):
            raise CaptureError(
                f"a recording is an .mcap or a .parquet file, not {self.path.name!r}"
            )
        self.name = "recorder"
        self._settings = Settings(
            compression=compression,
            chunk_bytes=chunk_bytes,
            chunk_span_ns=_span_ns(chunk_seconds),
            queue_bytes=queue_bytes,
            when_full=when_full,
            overwrite=overwrite,
            durable=durable,
        )
        check_settings(self._settings)
        super().__init__()
        self._session: Session | None = None
        self._groups: list[_Group] = []
        self._own: _Group | None = None
        self._registrations: list[Registration] = []
        self._files: list[Path] = []
        self._last = RecorderStatistics((), 0, 0, 0)
        for settings in channels:
            self._add_from_settings(dict(settings))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of this recorder, the present one last."""
        return tuple(self._files)

    def attach(self, scene: Scene) -> None:
        self._scene = scene

    def start(self) -> None:
        try:
            self._start()
        except BaseException:
            self.stop()  # leave no registration behind
            raise

    def _start(self) -> None:
        scene = self._scene
        assert scene is not None
        own = next((r for r in scene.time.registrations if r.callback == self.step), None)
        assert own is not None
        places: dict[tuple[str, Phase, int], list[Channel]] = {}
        for channel, (runner, phase, priority) in self._channels.values():
            place = (
                self._runner_of(channel, own).name
                if runner is None
                else scene.time.runners[runner].name,
                own.phase if phase is None else phase,
                own.priority if priority is None else priority,
            )
            places.setdefault(place, []).append(channel)
            beat = scene.time.runners[place[0]]
            channel.metadata.update(
                runner=place[0], rate_hz=str(beat.rate.as_written()), phase=str(place[1])
            )
            channel.bind(scene)
        self._groups, self._own = [], None
        for place, channels in places.items():
            group = _Group(self, channels)
            self._groups.append(group)
            if place == (own.runner.name, own.phase, own.priority):
                self._own = group
            else:
                runner_name, where, rank = place
                self._registrations.append(
                    scene.time.register(
                        group.step,
                        runner=runner_name,
                        phase=where,
                        priority=rank,
                        name=f"{self.name} ({', '.join(c.topic for c in channels[:3])})",
                        watching=True,
                    )
                )
        self._open()

    def _runner_of(self, channel: Channel, own: Registration) -> Runner:
        """The runner of a channel that names none: its sensor's, else the recorder's."""
        scene = self._scene
        sensor = sensor_of(channel.source, scene)
        if scene is not None and sensor is not None:
            for registration in scene.time.registrations:
                if getattr(registration.callback, "__self__", None) is sensor:
                    return registration.runner
        return own.runner

    def step(self, context: StepContext) -> None:
        if self._own is not None:
            self._own.beat(context)

    def stop(self) -> None:
        for registration in self._registrations:
            registration.remove()
        self._registrations = []
        self._close()

    def flush(self) -> None:
        """Everything sampled so far is in the file when this returns; its chunk ends here."""
        if self._session is not None:
            self._session.flush()

    def statistics(self) -> RecorderStatistics:
        """How much was written and how much waited."""
        session = self._session
        if session is None:
            return self._last
        return RecorderStatistics(
            tuple(self._files), session.writer.size, session.pipe.peak_bytes, session.pipe.waits
        )

    def _open(self) -> None:
        try:
            path = self._free_path()
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(
                f"{self.path} cannot be created: {error.strerror}",
                hint="record to a folder that can be written to",
            ) from error
        self._files.append(path)
        session = Session(_recorded_path(path), self._settings)
        self._session = session
        self._begun = True
        scene = self._scene
        assert scene is not None
        session.describe({"scene": scene.name, "seed": str(scene.seed)})
        for group in self._groups:
            group.begin(session)
        # A program that ends without stopping its scene still gets a whole file.
        self._finalizer = weakref.finalize(self, session.close)

    def _free_path(self) -> Path:
        """This file's name: the recorder's own, with the first free number behind it."""
        number = len(self._files) + 1
        while True:
            path = Path(unique_path(os.fspath(self.path), number))
            taken = path.exists() or _recorded_path(path).exists()
            if path not in self._files and (self._settings.overwrite or not taken):
                return path
            number += 1

    def _close(self) -> None:
        session, self._session = self._session, None
        self._begun = False
        if session is None:
            return
        try:
            session.close()
        finally:
            self._finalizer.detach()
            self._last = RecorderStatistics(
                tuple(self._files), session.writer.size, session.pipe.peak_bytes, session.pipe.waits
            )
        path = self._files[-1]
        if path.suffix == ".parquet":
            from mainspring.capture._convert import convert

            convert(_recorded_path(path), path, overwrite=self._settings.overwrite)
            _recorded_path(path).unlink()

    def rewound(self) -> None:
        """The clock jumped back: this file is complete, the next begins."""
        self._close()
        self._open()


class _Group:
    """The recorder's channels at one place; outlives the files it is sampled into."""

    def __init__(self, recorder: Recorder, channels: list[Channel]) -> None:
        self._recorder = recorder
        self._channels = channels
        self._group: ChannelGroup

    def begin(self, session: Session) -> None:
        self._group = session.group(self._channels, self._slow)
        self.beat = self._group.beat

    def step(self, context: StepContext) -> None:
        self.beat(context)

    def _slow(self, context: StepContext) -> None:
        time_ns = context.time
        if time_ns <= self.beat.last_ns:
            self._recorder.rewound()
        self._group.sample(time_ns)


def _span_ns(seconds: float) -> int:
    if not 1e-9 <= seconds <= 1e9:  # NaN is not, either
        raise RecordingError(f"a recorder's chunk_seconds is a positive number, not {seconds!r}")
    return round(seconds * 1e9)


def _recorded_path(path: Path) -> Path:
    """Where a recording goes while it runs; a table is made of it at the end."""
    return path.with_name(path.name + ".mcap") if path.suffix == ".parquet" else path
