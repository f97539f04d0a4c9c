"""The canonical encoding of state, and the tape of inputs."""

from collections.abc import Callable
from typing import Any

import mainspring._kernel.inbox


def encode(value: object, fallback: Callable[[Any], bytes]) -> bytes:
    """
    The canonical bytes of `value`; `fallback(value)` gives those of what is not plain.
    """

def copy_plain(value: object) -> Any:
    """
    A copy of numbers, text, bytes, None and the lists, tuples and dictionaries with text keys that hold them; NotImplemented when there is anything else.
    """

class Tape(mainspring._kernel.inbox.Gate):
    """
    The inputs that wait to be written, encoded. `on_first` is told when there are some again, and when far too many wait. As the gate of an inbox it refuses what cannot be encoded, and tells `on_own` of inputs that the simulation puts itself.
    """

    def __init__(self, clock: object, timeline: object, fallback: Callable[[Any], bytes], check: Callable[[Any], object], on_own: Callable[[Any], object], on_first: Callable[[], object]) -> None: ...

    def inputs(self, time_ns: int, inputs: object) -> None:
        """Appends the inputs of one instant."""

    def take(self) -> tuple[int, int, int, int, bytes] | None:
        """
        First and last instant, number of instants, last sequence number and the encoded list, which is empty afterwards.
        """

    @property
    def last_seq(self) -> int:
        """The last sequence number that was appended."""

    def seek(self, last_seq: int) -> None:
        """Goes on after the input `last_seq`."""

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait."""
