"""Rows of one dtype and shape that never move while somebody looks at them.

The promise: an array handed out by `view` goes on showing the same rows, at the same
address, however many rows are added. It holds because the address space for the largest
number of rows is reserved at the start and the operating system supplies a page when it is
first written; a reserve of sixteen million rows costs nothing until they exist. Where address
space is rationed (`ulimit -v`, strict overcommit) a reserve takes a modest share of it, and the
world has room for fewer.

When rows must close up after others were removed, a row that somebody still looks at
must not turn into another entity's. `held` tells whether anybody looks; if so the rows
move to a fresh reserve, and the old arrays keep their last values, detached.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mainspring.world._errors import CapacityError

__all__ = ["Reserve", "Rows"]

# Python names this flag from 3.13 on; the value is Linux's.
_NORESERVE: int = getattr(mmap, "MAP_NORESERVE", 0x4000)
_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE


# What one reserve takes of rationed address space; a world of a dozen columns has some twenty.
_SHARE = 128
_STRICT_MAX = 64 << 20


def _keep_freed_pages() -> None:
    """Lets the C library keep what a snapshot frees for the next one.

    glibc learns from what is freed: having seen a block of nearly 32 MB go, it serves blocks up
    to that size from its heap and keeps 64 MB of it when they are freed. Otherwise each
    snapshot of a world of some megabytes pays for a thousand fresh pages, ten times what
    copying the bytes costs. The block is never written, so it costs two system calls.
    """
    with contextlib.suppress(MemoryError):
        np.empty(31 << 20, dtype=np.uint8)


_keep_freed_pages()


@functools.cache
def _strict() -> bool:
    """Whether the system counts reserved memory as used (vm.overcommit_memory is 2)."""
    try:
        return Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2"
    except OSError:
        return False


def _largest() -> int | None:
    """The most bytes to reserve at once; None where only the address space itself is the limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        return limit // _SHARE
    return _STRICT_MAX if _strict() else None


def _map(size: int) -> mmap.mmap:
    return mmap.mmap(-1, max(size, mmap.PAGESIZE), flags=_FLAGS)


class Reserve:
    """Address space for `rows_max` rows; `full` is all of it."""

    __slots__ = ("baseline", "dtype", "full", "owner", "rows_max", "shape")

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...], rows_max: int) -> None:
        self.dtype = dtype
        self.shape = shape
        width = dtype.itemsize
        for side in shape:
            width *= side
        largest = _largest()
        if largest is not None:
            rows_max = min(rows_max, max(1024, largest // width))
        # And if the system refuses all the same, take the largest part it grants.
        while True:
            try:
                memory = _map(rows_max * width)
                break
            except (OSError, ValueError, OverflowError):
                rows_max //= 2
                if rows_max * width < 1 << 16:
                    raise CapacityError(
                        f"no address space for rows of {width} bytes",
                        hint="raise the limit on virtual memory (ulimit -v)",
                    ) from None
        self.rows_max = rows_max
        # Every view of an array has the array that holds the memory as its base, views of
        # views too. So its reference count tells whether a view is alive.
        items = rows_max * (width // dtype.itemsize)
        self.owner: NDArray[Any] = np.frombuffer(memory, dtype=dtype, count=items)
        self.full: NDArray[Any] = self.owner.reshape(rows_max, *shape)
        self.baseline = sys.getrefcount(self.owner)

    def fresh(self) -> Reserve:
        """An empty reserve like this one."""
        return Reserve(self.dtype, self.shape, self.rows_max)


class Rows:
    """A reserve whose rows close up, open again and are replaced as a whole.

    `view(n)` is the first `n` rows. What happens to each row is told by the table that owns
    it: this class knows neither entities nor what is alive.
    """

    __slots__ = ("_reserve", "default", "full")

    def __init__(
        self, dtype: np.dtype[Any], shape: tuple[int, ...], rows_max: int, default: Any
    ) -> None:
        self._reserve = Reserve(dtype, shape, rows_max)
        self.full = self._reserve.full
        self.default = default

    @property
    def rows_max(self) -> int:
        return self._reserve.rows_max

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._reserve.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._reserve.shape

    def held(self) -> bool:
        """Whether anybody holds an array that shows these rows.

        The same test that `ndarray.resize` makes before it moves memory. Asked for each column
        at the start of each call of a skill, so it is as short as it can be."""
        reserve = self._reserve
        return sys.getrefcount(reserve.owner) > reserve.baseline

    def view(self, rows: int) -> NDArray[Any]:
        return self.full[:rows]

    def clear(self, first: int, end: int) -> None:
        """Rows `[first, end)` get the default."""
        self.full[first:end] = self.default

    def close_up(self, first: int, kept: NDArray[np.intp]) -> None:
        """Of the rows from `first` on, only `kept` stay; they move up in order."""
        moved = self.full[kept]
        if self.held():
            self._move(first)
        self.full[first : first + len(kept)] = moved

    def open_up(
        self, first: int, kept: NDArray[np.intp], gone: NDArray[np.intp], lost: Any
    ) -> None:
        """The reverse of `close_up`: what moved goes back, and `gone` get what was `lost`."""
        moved = self.full[first : first + len(kept)].copy()
        if self.held():
            self._move(first)
        self.full[kept] = moved
        self.full[gone] = lost

    def replace(self, values: NDArray[Any], *, same_rows: bool) -> None:
        """All rows become `values`; in place where each row stays the same entity's."""
        if not same_rows and self.held():
            self._move(0)
        self.full[: len(values)] = values

    def _move(self, keep: int) -> None:
        fresh = self._reserve.fresh()
        fresh.full[:keep] = self.full[:keep]
        self._reserve = fresh
        self.full = fresh.full
