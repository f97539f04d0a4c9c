"""The one queue through which the outside comes in."""



class Gate:
    """Looks at every item before it is accepted, and may refuse it."""

class Inbox:
    """A bounded queue: many threads put, one drains."""

    def __init__(self, capacity: int) -> None: ...

    def put(self, item: object | None) -> bool:
        """
        Adds `item`; False when the queue is full. What the gate raises is raised, and nothing is added.
        """

    @property
    def gate(self) -> Gate | None:
        """
        What looks at every item before it is accepted; None when nothing does.
        """

    @gate.setter
    def gate(self, gate: Gate | None, /) -> None: ...

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
