"""The entity table: who lives, in which order, with which tags.

The promise: ids `ent_1`, `ent_2`, ... are given once and never again, also across saving and
restoring; an id whose entity is gone resolves to nothing for ever; whatever lists entities
lists them in the order of their creation.

Each living entity has a row, and rows are in the order of creation too, so row `i` of every
column belongs to the `i`-th living entity. Destroying leaves a hole; the rows close up the
next time somebody looks at a column, a query or the saved state as a whole, once for all that
was destroyed in between. Handles find their row again by themselves.

    >>> table = EntityTable()
    >>> table.create(tags=["crate"]), table.create(), table.create(tags=["crate"])
    ('ent_1', 'ent_2', 'ent_3')
    >>> table.destroy("ent_2"), table.resolve("ent_2"), table.create()
    (True, None, 'ent_4')
    >>> table.ids
    ['ent_1', 'ent_3', 'ent_4']
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mainspring.world._errors import CapacityError, EntityError, WorldError
from mainspring.world._journal import Journal
from mainspring.world._memory import Rows
from mainspring.world._tags import TagSets, as_tags

__all__ = ["ENTITIES_MAX", "EntityTable", "entity_id", "entity_number"]

ENTITIES_MAX = 1 << 24
# Holes are worth closing on their own, without anybody looking, from here on.
_HOLES_MIN = 1024
_NUMBER_DIGITS_MAX = 18
_TAG_SETS_MIN = 4096


def entity_id(number: int) -> str:
    return f"ent_{number}"


def entity_number(reference: object) -> int | None:
    """The number in an id; None for anything that is no id, spelled as the table spells it."""
    if not isinstance(reference, str) or not reference.startswith("ent_"):
        return None
    digits = reference[4:]
    if not digits.isascii() or not digits.isdigit() or len(digits) > _NUMBER_DIGITS_MAX:
        return None
    return None if digits[0] == "0" else int(digits)


class EntityTable:
    """Living entities in creation order, their ids and tags, and a version.

    `version` counts every birth and death. `entities_max` bounds how many can live at once.
    """

    def __init__(self, *, entities_max: int = ENTITIES_MAX) -> None:
        self.entities_max = entities_max
        self._numbers = Rows(np.dtype(np.int64), (), entities_max, 0)
        self._tag_codes = Rows(np.dtype(np.int32), (), entities_max, 0)
        self._tag_sets = TagSets()
        self._stores: list[Rows] = [self._numbers, self._tag_codes]
        self._room = min(store.rows_max for store in self._stores)
        self._forget: list[Callable[[int], None]] = []
        self._rows = 0  # holes included
        self._holes = 0
        self._alive = bytearray()
        self._number_list: list[int] | None = []
        self._next = 1
        self._version = 0
        self._layout = 0
        self.journal: Journal | None = None

    # ---- births and deaths -------------------------------------------------------------------

    def create(self, tags: Iterable[str] | str = ()) -> str:
        """A new entity's id."""
        return entity_id(self.create_many(1, tags))

    def create_many(self, count: int, tags: Iterable[str] | str = ()) -> int:
        """`count` new entities with numbers in a row; the first of them."""
        code = self._code_of(tags)
        given: Any = count
        if not isinstance(given, int | np.integer) or count < 0:
            raise WorldError(f"cannot create {count!r} entities", hint="give a number from 0 up")
        if self._holes > _HOLES_MIN and self._holes > self._rows // 2:
            self.close_up()
        first_row, end = self._rows, self._rows + count
        room = self._room
        if end > room and self._holes:
            self.close_up()
            first_row, end = self._rows, self._rows + count
        if end > room:
            raise CapacityError(
                f"the world has room for {room} entities and {first_row} live; {count} more do not fit",
                hint="give World(entities_max=...) a larger number",
            )
        first = self._next
        if count == 1:
            for store in self._stores:
                store.full[first_row] = store.default
            self._numbers.full[first_row] = first
            self._tag_codes.full[first_row] = code
            self._alive.append(1)
            if self._number_list is not None:
                self._number_list.append(first)
        else:
            for store in self._stores:
                store.clear(first_row, end)
            self._numbers.full[first_row:end] = np.arange(first, first + count)
            self._tag_codes.full[first_row:end] = code
            self._alive.extend(b"\1" * count)
            if self._number_list is not None:
                self._number_list.extend(range(first, first + count))
        version = self._version
        self._rows = end
        self._next = first + count
        self._version = version + count
        if self.journal is not None:
            self.journal.record(lambda: self._undo_create(count, version))
        return first

    def _undo_create(self, count: int, version: int) -> None:
        self._rows -= count
        del self._alive[self._rows :]
        self._number_list = None
        self._next -= count
        self._version = version
        self._layout += 1

    def destroy(self, entity: str) -> bool:
        """Ends an entity; False when the id resolves to nothing."""
        number = entity_number(entity)
        return number is not None and self.destroy_number(number)

    def destroy_number(self, number: int) -> bool:
        row = self.row_of(number)
        if row is None:
            return False
        for forget in self._forget:
            forget(number)
        self._alive[row] = 0
        self._holes += 1
        version = self._version
        self._version = version + 1
        if self.journal is not None:
            self.journal.record(lambda: self._undo_destroy(row, version))
        return True

    def _undo_destroy(self, row: int, version: int) -> None:
        self._alive[row] = 1
        self._holes -= 1
        self._version = version

    # ---- looking up --------------------------------------------------------------------------

    def row_of(self, number: int) -> int | None:
        """The row of a living entity. It holds until `layout` changes."""
        numbers = self._number_list
        if numbers is None:
            numbers = self._number_list = self._numbers.full[: self._rows].tolist()
        row = bisect_left(numbers, number)
        if row < len(numbers) and numbers[row] == number and self._alive[row]:
            return row
        return None

    def resolve(self, entity: str) -> int | None:
        """The row of the entity with this id; None when there is none (any more)."""
        number = entity_number(entity)
        return None if number is None else self.row_of(number)

    def require(self, entity: str) -> int:
        """The row of the entity with this id, or an error that says what became of it."""
        row = self.resolve(entity)
        if row is not None:
            return row
        number = entity_number(entity)
        if number is None:
            raise EntityError(f"{entity!r} is not an entity id", hint="ids look like 'ent_12'")
        if number < self._next:
            raise EntityError(
                f"{entity} does not live any more", hint="its id is never given again"
            )
        raise EntityError(f"{entity} was never created", hint=f"the next id is ent_{self._next}")

    def __contains__(self, entity: object) -> bool:
        return isinstance(entity, str) and self.resolve(entity) is not None

    def __len__(self) -> int:
        return self._rows - self._holes

    def __iter__(self) -> Iterator[str]:
        """The ids of the living, in the order of creation."""
        return iter(self.ids)

    @property
    def ids(self) -> list[str]:
        return [f"ent_{number}" for number in self.numbers.tolist()]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers in the ids of the living, by row; an array that cannot be written."""
        self.close_up()
        numbers = self._numbers.view(self._rows)
        numbers.flags.writeable = False
        return numbers

    @property
    def rows(self) -> int:
        """Rows in use, holes included."""
        return self._rows

    def lives_at(self, row: int) -> bool:
        return bool(self._alive[row])

    def number_at(self, row: int) -> int:
        return int(self._numbers.full[row])

    def id_at(self, row: int) -> str:
        return entity_id(self.number_at(row))

    @property
    def version(self) -> int:
        """How many births and deaths there have been."""
        return self._version

    @property
    def next_id(self) -> str:
        return entity_id(self._next)

    @property
    def layout(self) -> int:
        """Changes whenever a row may have come to belong to another entity. Not part of the state."""
        return self._layout

    def __repr__(self) -> str:
        return f"EntityTable({len(self)} living, version {self._version}, next {self.next_id})"

    # ---- tags --------------------------------------------------------------------------------

    def tags_at(self, row: int) -> tuple[str, ...]:
        """The tags of a row, sorted."""
        return self._tag_sets[int(self._tag_codes.full[row])]

    def set_tags_at(self, row: int, tags: Iterable[str] | str) -> None:
        code = self._code_of(tags)
        codes = self._tag_codes.full
        if self.journal is not None:
            old = int(codes[row])
            self.journal.record(lambda: self._tag_codes.full.__setitem__(row, old))
        codes[row] = code

    def _code_of(self, tags: Iterable[str] | str) -> int:
        code = self._tag_sets.code_of(as_tags(tags))
        # Sets that nobody has any more are dropped once they are the most.
        if code > 2 * self._rows + _TAG_SETS_MIN and self.journal is None:
            codes = self._tag_codes.view(self._rows)
            self._tag_sets, codes[:] = self._tag_sets.used_by(codes)
            code = self._tag_sets.code_of(as_tags(tags))
        return code

    def tags(self, entity: str) -> tuple[str, ...]:
        return self.tags_at(self.require(entity))

    def add_tags(self, entity: str, *tags: str) -> None:
        row = self.require(entity)
        self.set_tags_at(row, {*self.tags_at(row), *as_tags(tags)})

    def remove_tags(self, entity: str, *tags: str) -> None:
        """Takes tags away; those it does not have are no error."""
        row = self.require(entity)
        gone = as_tags(tags)
        self.set_tags_at(row, [tag for tag in self.tags_at(row) if tag not in gone])

    def tagged(self, tag: str) -> NDArray[np.bool_]:
        """For each row, whether it has the tag."""
        if not isinstance(tag, str):
            raise WorldError(f"{tag!r} is not a tag", hint="a tag is a string")
        self.close_up()
        found: NDArray[np.bool_] = self._tag_sets.having(tag)[self._tag_codes.view(self._rows)]
        return found

    # ---- rows --------------------------------------------------------------------------------

    def attach(self, store: Rows) -> None:
        """From now on `store` has a row for each entity; those there are get the default."""
        self.close_up()
        if store.rows_max < self._rows:
            raise CapacityError(
                f"no address space for another column of {self._rows} entities",
                hint="raise the limit on virtual memory (ulimit -v)",
            )
        self._stores.append(store)
        self._room = min(self._room, store.rows_max)
        store.clear(0, self._rows)

    def on_destroy(self, forget: Callable[[int], None]) -> None:
        """`forget(number)` is called for each entity that is destroyed."""
        self._forget.append(forget)

    def close_up(self) -> None:
        """Closes the holes, so that row `i` is the `i`-th living entity."""
        if not self._holes:
            return
        alive = np.frombuffer(bytes(self._alive), dtype=np.bool_)
        gone = np.flatnonzero(~alive)
        first = int(gone[0])
        kept = np.flatnonzero(alive[first:]) + first
        journal = self.journal
        if journal is not None:
            lost = [store.full[gone] for store in self._stores]
            old = self._alive
            journal.record(lambda: self._open_up(first, kept, gone, lost, old))
            journal.touched.clear()
        for store in self._stores:
            store.close_up(first, kept)
        self._rows -= self._holes
        self._holes = 0
        self._alive = bytearray(b"\1") * self._rows
        self._number_list = None
        self._layout += 1

    def _open_up(
        self,
        first: int,
        kept: NDArray[np.intp],
        gone: NDArray[np.intp],
        lost: list[NDArray[Any]],
        alive: bytearray,
    ) -> None:
        for store, values in zip(self._stores, lost, strict=True):
            store.open_up(first, kept, gone, values)
        self._rows = len(alive)
        self._holes = len(gone)
        self._alive = alive
        self._number_list = None
        self._layout += 1

    # ---- state -------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        self.close_up()
        tag_sets, tag_codes = self._tag_sets.used_by(self._tag_codes.view(self._rows))
        return {
            "version": self._version,
            "next": self._next,
            "numbers": self._numbers.view(self._rows).copy(),
            "tag_sets": [list(tags) for tags in tag_sets],
            "tags": tag_codes,
        }

    def restore(self, state: Any) -> None:
        self.check(state)
        self.apply(state)

    def check(self, state: Any) -> int:
        """Raises if `state` is not what `save` returns; the number of entities in it."""
        try:
            numbers, tags = state["numbers"], state["tags"]
            in_order = len(numbers) == 0 or (numbers[0] >= 1 and bool(np.all(np.diff(numbers) > 0)))
            sound = (
                in_order
                and (len(numbers) == 0 or int(numbers[-1]) < state["next"])
                and len(tags) == len(numbers)
                and bool(np.all((tags >= 0) & (tags < max(1, len(state["tag_sets"])))))
                and state["version"] >= 0
            )
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise WorldError(
                f"this is not the saved state of an entity table: {error!r}"
            ) from error
        if not sound:
            raise WorldError(
                "the saved entities contradict each other",
                hint="ids must ascend and stay below the next one",
            )
        if len(numbers) > self._numbers.rows_max:
            raise CapacityError(
                f"the saved state has {len(numbers)} entities, the world room for {self._numbers.rows_max}"
            )
        return len(numbers)

    def apply(self, state: Any) -> bool:
        """Takes over a state that was checked.

        Says whether each row stays the same entity's, so that columns may be overwritten in
        place: then arrays held from before show what was restored.
        """
        if self.journal is not None:
            raise WorldError("a skill cannot restore the world it runs in")
        numbers = state["numbers"]
        common = min(len(numbers), self._rows)
        same_rows = bool(np.array_equal(numbers[:common], self._numbers.full[:common]))
        self._numbers.replace(numbers, same_rows=same_rows)
        self._tag_sets = TagSets(state["tag_sets"])
        self._tag_codes.replace(state["tags"], same_rows=same_rows)
        self._rows = len(numbers)
        self._holes = 0
        self._alive = bytearray(b"\1") * self._rows
        self._number_list = None
        self._next = state["next"]
        self._version = state["version"]
        self._layout += 1
        return same_rows
