"""Reports on their way out: kept until delivered, in order, retried, never lost."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mainspring.project import Delivery, Outbox, OutboxError, ProjectError, Retry, StreamReportsJob
from mainspring.threads import Job, JobCancelledError, Progress, StopToken

from .conftest import Disk, finish, in_a_process_that_dies
from .servers import endpoint

AT_ONCE = Retry(attempts=4, first_s=0.0)


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    made = Outbox(tmp_path / "outbox")
    for number in range(3):
        made.put({"run": number}, id=f"run-{number}")
    return made


def test_reports_arrive_in_order_and_leave_the_outbox(outbox: Outbox) -> None:
    with endpoint() as told:
        done = finish(StreamReportsJob.start(outbox, told.url))
    assert done == Delivery(sent=3, rejected=0, attempts=3)
    assert told.received == [{"id": f"run-{n}", "run": n} for n in range(3)]
    assert told.keys == ["run-0", "run-1", "run-2"]
    assert len(outbox) == 0


def test_a_weak_endpoint_is_tried_again(outbox: Outbox) -> None:
    """Errors of the server, a broken line and an asked-for pause; the same key every time."""
    with endpoint() as told:
        told.answers = [(500, {}), (0, {}), (429, {"Retry-After": "0"}), (200, {}), (503, {})]
        told.answers += [(503, {"Retry-After": text}) for text in ("nan", "-1")]
        done = finish(StreamReportsJob.start(outbox, told.url, retry=AT_ONCE))
    assert done == Delivery(sent=3, rejected=0, attempts=9)
    assert [report["run"] for report in told.received] == [0, 1, 2]


def test_an_endpoint_that_is_away_for_days(outbox: Outbox, tmp_path: Path) -> None:
    """Three days of refusals on a clock of the test's: pauses grow to their most and no further,
    nothing is lost, and the outbox is bounded. Another process goes on where this one was killed."""
    clock_s = [0.0]

    def sleep(seconds: float) -> None:
        clock_s[0] += seconds
        if clock_s[0] > 3 * 86_400:
            raise KilledError

    small = Outbox(outbox.folder, most_reports=4)
    retry = Retry(attempts=None, first_s=1.0, most_s=600.0)
    with endpoint() as told:
        told.answers = [(503, {})] * 600
        job = StreamReportsJob.start(small, told.url, retry=retry, sleep=sleep)
        with pytest.raises(KilledError):
            finish(job)
        asked = 600 - len(told.answers)
        assert 3 * 86_400 / 600 < asked < 3 * 86_400 / 600 + 12
        small.put({"run": 3}, id="run-3")
        with pytest.raises(
            OutboxError, match=r"is full: 4 reports wait and 0 were rejected"
        ) as full:
            small.put({"run": 4}, id="run-4")
        assert "mainspring reports send" in (full.value.hint or "")
        assert len(small) == 4
        told.answers = [(422, {})]
        done = finish(StreamReportsJob.start(Outbox(outbox.folder), told.url))
    assert done == Delivery(sent=3, rejected=1, attempts=4)
    assert [report["run"] for report in told.received] == [1, 2, 3]


class PuttingJob(Job[None]):
    """Three reports, one after the other."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__("put")
        self.outbox = outbox

    def run(self, stop: StopToken, progress: Progress) -> None:
        for number in range(3):
            self.outbox.put({"run": number}, id=f"run-{number}")


@pytest.mark.slow
def test_reports_survive_a_kill_at_every_moment(tmp_path: Path, disk: Disk) -> None:
    """SIGKILL while they are kept, and while they are sent: what is kept is whole and oldest first;
    what arrives again has the id it had before, and nothing is lost."""
    number = 0
    while True:
        number += 1
        outbox = Outbox(tmp_path / f"put-{number}")
        disk.kills_at(number)
        killed = in_a_process_that_dies(lambda kept=outbox: PuttingJob.start(kept).join())
        disk.mended()
        with endpoint() as told:
            finish(StreamReportsJob.start(outbox, told.url))
        assert told.keys == [f"run-{n}" for n in range(len(told.keys))]
        if not killed:
            break
    assert number > 6
    assert len(told.keys) == 3
    number = 0
    while True:
        number += 1
        outbox = Outbox(tmp_path / f"send-{number}")
        finish(PuttingJob.start(outbox))
        with endpoint() as told:
            told.answers = [(200, {}), (422, {})]
            disk.kills_at(number)
            killed = in_a_process_that_dies(
                lambda kept=outbox, url=told.url: StreamReportsJob.start(kept, url).join()
            )
            disk.mended()
            finish(StreamReportsJob.start(outbox, told.url))
        refused = [path.name.split(".")[1] for path in outbox.rejected()]
        assert sorted({*told.keys, *refused}) == ["run-0", "run-1", "run-2"]
        assert told.keys == sorted(told.keys)
        assert [report["id"] for report in told.received] == told.keys
        assert len(outbox) == 0
        if not killed:
            break
    assert number > 3


def test_a_file_system_without_locks_still_keeps_and_sends(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As NFS has none for folders: nothing is swept that may be somebody's, and work goes on."""
    import errno
    import fcntl

    from mainspring.project import AssetRegistry, Project, RegistryError, sweep

    def none(handle: int, operation: int) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", none)
    outbox.put({"run": 3}, id="run-3")
    with endpoint() as told:
        assert finish(StreamReportsJob.start(outbox, told.url)).sent == 4
    project = Project.create(outbox.folder.parent / "cell")
    left = project.root / ".x.12345678.mainspring-partial"
    left.touch()
    assert sweep(project.root) == []
    assert left.exists()
    with (
        pytest.raises(RegistryError, match="a file system without locks"),
        AssetRegistry(project.root / "assets").writing(),
    ):
        pass


class KilledError(Exception):
    pass


def test_a_report_that_is_too_large_is_refused_whole(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox", most_report_bytes=100)
    with pytest.raises(OutboxError, match="more than 100"):
        outbox.put({"text": "x" * 100})
    assert not outbox.folder.exists()


def test_one_sender_at_a_time(outbox: Outbox) -> None:
    """A second one, in whatever process, would send everything twice."""
    with endpoint() as told:
        with outbox.sending(), pytest.raises(OutboxError, match="are being sent already"):
            finish(StreamReportsJob.start(Outbox(outbox.folder), told.url))
        assert told.received == []
        assert finish(StreamReportsJob.start(outbox, told.url)).sent == 3


def test_what_is_refused_for_good_does_not_hold_up_the_others(outbox: Outbox) -> None:
    with endpoint() as told:
        told.answers = [(200, {}), (422, {})]
        done = finish(StreamReportsJob.start(outbox, told.url))
    assert (done.sent, done.rejected) == (2, 1)
    (path,) = outbox.rejected()
    assert "run-1" in path.name
    assert "422" in path.with_name(f"{path.stem}.reason.txt").read_text()
    assert len(outbox) == 0


def test_an_endpoint_that_stays_away_costs_no_report(outbox: Outbox) -> None:
    with endpoint() as told:
        told.answers = [(200, {}), *[(503, {})] * 4]
        with pytest.raises(OutboxError, match=r"in 4 attempts.*503") as caught:
            finish(StreamReportsJob.start(outbox, told.url, retry=AT_ONCE))
        assert "2 reports stay" in (caught.value.hint or "")
        assert len(outbox) == 2
        done = finish(StreamReportsJob.start(outbox, told.url, retry=AT_ONCE))
    assert done.sent == 2
    assert [report["run"] for report in told.received] == [0, 1, 2]


def test_nobody_there(outbox: Outbox) -> None:
    job = StreamReportsJob.start(outbox, "http://127.0.0.1:9/", retry=Retry(2, 0.0))
    with pytest.raises(OutboxError, match="refused"):
        finish(job)
    assert len(outbox) == 3


def test_a_pause_ends_at_once_when_it_is_cancelled(outbox: Outbox) -> None:
    with endpoint() as told:
        told.answers = [(503, {"Retry-After": "1000"})]
        job = StreamReportsJob.start(outbox, told.url, retry=Retry(2, 1000.0, 1000.0))
        assert told.asked.wait(30)
        job.cancel()
        with pytest.raises(JobCancelledError):
            finish(job)
    assert len(outbox) == 3


def test_a_damaged_report_is_put_aside(outbox: Outbox) -> None:
    outbox.pending()[0].write_text("{half")
    with endpoint() as told:
        done = finish(StreamReportsJob.start(outbox, told.url))
    assert (done.sent, done.rejected) == (2, 1)


def test_what_is_no_json_is_refused_at_once(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox")
    with pytest.raises(OutboxError, match="cannot be written as JSON"):
        outbox.put([1, 2])
    with pytest.raises(OutboxError, match="cannot be a report's id"):
        outbox.put({}, id="../x")
    with pytest.raises(ProjectError, match="no http"):
        StreamReportsJob.start(outbox, "ftp://x")
    assert len(outbox) == 0


def test_pauses_double_up_to_the_most() -> None:
    retry = Retry(first_s=0.5, most_s=3.0)
    assert [retry.pause_s(n, None) for n in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert retry.pause_s(1, 2.0) == 2.0
    assert retry.pause_s(1, 1e9) == 3.0


def test_the_report_of_a_run_is_a_report(tmp_path: Path) -> None:
    """What `scene.advance` returns goes as it is."""
    from mainspring import Scene

    outbox = Outbox(tmp_path / "outbox")
    outbox.put({"id": "its own", **msgspec.to_builtins(Scene().advance(seconds=0.1))}, id="run-1")
    outbox.put(Scene().advance(seconds=0.1), id="run-2")
    with endpoint() as told:
        finish(StreamReportsJob.start(outbox, told.url))
    assert [report["id"] for report in told.received] == told.keys == ["run-1", "run-2"]
    assert [report["instants"] for report in told.received] == [7, 7]
