"""Sampling and encoding of recordings."""

from collections.abc import Callable, Sequence

import mainspring.clock


class ChunkBuilder:
    """Builds the contents of MCAP chunks."""

    def __init__(self, limit_bytes: int, span_ns: int) -> None: ...

    def add_channel(self, id: int, program: Sequence[tuple[object, ...]]) -> None:
        """Declare a channel and how its values become JSON."""

    def add_group(self, channels: Sequence[int]) -> int:
        """Declare the channels of one row; returns the group's number."""

    def add_record(self, record: bytes) -> None:
        """Copy a whole schema or channel record into the chunk."""

    def add_message(self, channel: int, time_ns: int, data: bytes | memoryview) -> None:
        """Add one whole message under the channel's next sequence number."""

    def encode(self, tape: bytes | memoryview, start: int = 0) -> int:
        """
        Encode rows until the tape ends or the chunk is full; returns how far it came.
        """

    def full(self, time_ns: int) -> bool:
        """Whether the chunk must be taken before a message at `time_ns`."""

    @property
    def size(self) -> int: ...

    def take(self) -> tuple[memoryview, memoryview, bytes, int, int]:
        """
        The chunk: records, index, its channels (u16 number, u64 offset in the index, u64 messages), first and last time.
        """

def find_declarations(records: bytes) -> list[int]:
    """Where the schema and channel records of a chunk begin."""

def scan_messages(records: bytes) -> list[tuple[int, int, int, int, int, int]]:
    """
    Channel, sequence, log time, publish time, begin and end of every message of a chunk.
    """

def split_messages(records: bytes, skip: Sequence[int]) -> list[tuple[int, memoryview, list[bytes]]]:
    """
    The messages of a chunk by channel: its number, log times (int64) and data.
    """

class Sampler:
    """Copies the present values of a group of channels onto a tape."""

    def __init__(self, limit_bytes: int, mismatch: Callable[[int, int, object], object]) -> None: ...

    def add_group(self, number: int, cells: list[tuple[str, object, int, str, tuple[int, ...]]]) -> int:
        """Declare the cells of a row; returns the group's place in this sampler."""

    def sample(self, group: int, time_ns: int) -> bool:
        """Fetch and append one row; whether the tape has reached its limit."""

    def sample_values(self, group: int, time_ns: int, values: list[object]) -> bool:
        """Append one row of values fetched already."""

    def take(self) -> bytes:
        """The tape so far; a new one begins."""

    def stop(self) -> None:
        """Let every beat take its long way from now on."""

    @property
    def size(self) -> int: ...

class Beat:
    """
    A group's callback: samples without Python from after last_ns to before until_ns.
    """

    def __init__(self, sampler: Sampler, slow: Callable[[mainspring.clock.StepContext], object], full: Callable[[int], object]) -> None: ...

    def __call__(self, context: mainspring.clock.StepContext) -> object: ...

    @property
    def row(self) -> int:
        """Which of the sampler's groups."""

    @row.setter
    def row(self, arg: int, /) -> None: ...

    @property
    def last_ns(self) -> int:
        """The time of the last row; -1 before the first."""

    @last_ns.setter
    def last_ns(self, arg: int, /) -> None: ...

    @property
    def until_ns(self) -> int:
        """From this time on `slow` is called."""

    @until_ns.setter
    def until_ns(self, arg: int, /) -> None: ...
