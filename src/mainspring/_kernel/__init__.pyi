"""The hot loops of mainspring, with no policy of their own."""

from mainspring._kernel import (
    capture as capture,
    clock as clock,
    graph as graph,
    inbox as inbox,
    log as log,
    space as space,
    threads as threads
)
