"""Small values with a meaning of their own: removals, set changes, markers of signatures."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = [
    "REMOVE",
    "REMOVE_IF_EXISTS",
    "REQUIRED",
    "KeySet",
    "Removed",
    "SetDelta",
    "set_delta",
]

T = TypeVar("T")


class _Marker:
    """A named constant that stays one through copying, pickling and saving."""

    _known: dict[str, _Marker] = {}
    name: str

    def __new__(cls, name: str) -> _Marker:
        found = cls._known.get(name)
        if found is None:
            found = cls._known[name] = super().__new__(cls)
            found.name = name
        return found

    def __repr__(self) -> str:
        return self.name

    def __copy__(self) -> _Marker:
        return self

    def __deepcopy__(self, memo: object) -> _Marker:
        return self

    def __reduce__(self) -> str:
        return self.name


#: In the change of a TSD: the key goes (and must be there).
REMOVE = _Marker("REMOVE")
#: In the change of a TSD: the key goes if it is there.
REMOVE_IF_EXISTS = _Marker("REMOVE_IF_EXISTS")


class _Required:
    """Marks a CONTEXT that must be there, and may name it: `REQUIRED["price"]`."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name

    def __getitem__(self, name: str) -> _Required:
        return _Required(name)

    def __repr__(self) -> str:
        return "REQUIRED" if self.name is None else f"REQUIRED[{self.name!r}]"


REQUIRED = _Required()


@dataclass(eq=False, repr=False, slots=True)
class Removed(Generic[T]):
    """In the change of a TSS: the element goes. Equal to, and hashed as, the element."""

    item: T

    def __eq__(self, other: object) -> bool:
        return self.item == (other.item if isinstance(other, Removed) else other)

    def __hash__(self) -> int:
        return hash(self.item)

    def __repr__(self) -> str:
        return f"Removed({self.item!r})"


class SetDelta(frozenset[Any]):
    """The change of a TSS: what came, and what went as `Removed`, in the order it did."""

    __slots__ = ("_items",)
    _items: tuple[Any, ...]

    def __new__(cls, items: Iterable[Any] = ()) -> SetDelta:
        ordered_items = tuple(dict.fromkeys(items))
        made = super().__new__(cls, ordered_items)
        made._items = ordered_items
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __reduce__(self) -> tuple[type[SetDelta], tuple[tuple[Any, ...]]]:
        return SetDelta, (self._items,)

    @property
    def came(self) -> list[Any]:
        """The elements that came, in order."""
        return [item for item in self._items if type(item) is not Removed]

    @property
    def went(self) -> list[Any]:
        """The elements that went, in order."""
        return [item.item for item in self._items if type(item) is Removed]

    @property
    def added(self) -> frozenset[Any]:
        """The elements that came."""
        return frozenset(self.came)

    @property
    def removed(self) -> frozenset[Any]:
        """The elements that went."""
        return frozenset(self.went)

    def __add__(self, other: SetDelta) -> SetDelta:
        """One change and then another, as one."""
        came = [*(i for i in self.came if i not in other.removed), *other.came]
        went = [*(i for i in self.went if i not in other.added), *other.went]
        return set_delta(came, [i for i in went if i not in self.added])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SetDelta):
            return self.added == other.added and self.removed == other.removed
        if isinstance(other, (set, frozenset)):
            plain = {item for item in other if type(item) is not Removed}
            gone = {item.item for item in other if type(item) is Removed}
            return self.added == plain and self.removed == gone
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = frozenset.__hash__

    def __repr__(self) -> str:
        items = [repr(item) for item in ordered(self.added)]
        items += [f"Removed({item!r})" for item in ordered(self.removed)]
        return "SetDelta({" + ", ".join(items) + "})"


class KeySet(set[Any]):
    """The value of a TSS: a set that is iterated in the order of the time series, whatever the hashes."""

    __slots__ = ("_order",)
    _order: tuple[Any, ...] | None

    def __init__(self, items: Iterable[Any] = ()) -> None:
        order = tuple(items)
        super().__init__(order)
        self._order = order

    def __iter__(self) -> Iterator[Any]:
        return iter(ordered(super().__iter__()) if self._order is None else self._order)

    def __reduce__(self) -> tuple[type[KeySet], tuple[tuple[Any, ...]]]:
        return KeySet, (tuple(self),)

    def __repr__(self) -> str:  # as any other set is shown
        return "{" + ", ".join(map(repr, self)) + "}" if self else "set()"


def _changing(name: str) -> Any:
    change = getattr(set, name)

    @functools.wraps(change)
    def changed(self: KeySet, *args: Any) -> Any:
        self._order = None  # the reader's own now
        return change(self, *args)

    return changed


for _name in (
    "add", "clear", "difference_update", "discard", "intersection_update", "pop", "remove",
    "symmetric_difference_update", "update", "__iand__", "__ior__", "__isub__", "__ixor__",
):  # fmt: skip
    setattr(KeySet, _name, _changing(_name))


def ordered(items: Iterable[Any]) -> list[Any]:
    """The elements of a set in an order that does not depend on hashes."""
    items = list(items)
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=repr)


def set_delta(
    added: Iterable[Any] | None = None, removed: Iterable[Any] | None = None, tp: Any = None
) -> SetDelta:
    """The change of a TSS that adds and removes these elements."""
    added, removed = list(added or ()), list(removed or ())
    both = [item for item in added if item in removed]
    if both:
        raise ValueError(f"a set delta cannot both add and remove {', '.join(map(repr, both))}")
    return SetDelta([*(added or ()), *(Removed(item) for item in removed or ())])
