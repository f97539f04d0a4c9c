"""The one queue through which the outside comes in."""



class Inbox:
    """A bounded queue: many threads put, one drains."""

    def __init__(self, capacity: int) -> None: ...

    def put(self, item: object | None) -> bool:
        """Adds `item`; False when the queue is full."""

    def drain(self) -> list[object]:
        """Takes everything that waits, in the order it came."""

    def peek(self) -> list[object]:
        """What waits, in order, and stays."""

    @property
    def pending(self) -> int:
        """How many wait."""

    @property
    def capacity(self) -> int:
        """How many may wait."""

    @capacity.setter
    def capacity(self, arg: int, /) -> None: ...

    def wait_until(self, deadline_ns: int) -> bool:
        """
        Waits for an item, a `wake` or the deadline (monotonic); True when an item is there.
        """

    def wake(self) -> None:
        """Ends a wait that is under way."""
