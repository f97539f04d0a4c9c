"""The hot loops of mainspring, with no policy of their own."""

from mainspring._kernel import (
    clock as clock,
    graph as graph,
    inbox as inbox,
    space as space,
    threads as threads,
)
