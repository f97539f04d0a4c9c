"""One clock for everything that ticks."""

from mainspring._version import __version__
from mainspring.errors import MainspringError

__all__ = ["MainspringError", "__version__"]
