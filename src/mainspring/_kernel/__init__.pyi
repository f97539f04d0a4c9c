"""The hot loops of mainspring, with no policy of their own."""

from mainspring._kernel import (
    capture as capture,
)
from mainspring._kernel import (
    clock as clock,
)
from mainspring._kernel import (
    graph as graph,
)
from mainspring._kernel import (
    inbox as inbox,
)
from mainspring._kernel import (
    space as space,
)
from mainspring._kernel import (
    threads as threads,
)
