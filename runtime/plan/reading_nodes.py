"""The nodes of rows that tasks compute themselves: of files, or of what a kernel gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from ...planner.model.expressions.core import (
    AttributeReference,
    Expression,
    to_attribute,
    without_alias,
)
from ...planner.model.expressions.core import Literal as Constant
from ...planner.model.frozen import dataclass
from ...planner.model.lazy import cached_property
from ...planner.model.schemas.types import MapType
from ...planner.model.tree import replace
from .nodes import Columns, Kernel, RuntimeNode, used_by

Stage = tuple[tuple[Expression, ...], Columns, tuple[Expression, ...]]
"""Expressions, the columns that they are over, and the conditions of the rows they are of."""

LookUpType = Literal["Inner", "LeftOuter", "LeftSemi", "LeftAnti"]
"""What becomes of rows that are looked up in a table, by whether there is a match."""


@dataclass(frozen=True, kw_only=True)
class LookUp:
    """A join with a table of Parquet files, of which each task has all rows in memory.

    Attributes:
        name: the table.
        attributes: its columns.
        given: what its rows must fulfil.
        found: what is read of it, over `attributes`; nothing where only matches count.
        table_keys: what its rows are found by, over `attributes`.
        join_type: of rows with the table: `LeftOuter` keeps rows without a match, `LeftSemi` keeps
            rows with one, `LeftAnti` those without.
        conditions: what rows must fulfil to be looked up.
        columns: what is kept of rows.
        keys: what they are looked up by; like the two before over what comes in.
    """

    name: str
    attributes: Columns
    given: tuple[Expression, ...]
    found: tuple[Expression, ...]
    table_keys: tuple[Expression, ...]
    join_type: LookUpType
    conditions: tuple[Expression, ...]
    columns: tuple[Expression, ...]
    keys: tuple[Expression, ...]

    @property
    def output(self) -> Columns:
        """What is kept of rows, and what the table adds."""
        return tuple(map(to_attribute, (*self.columns, *self.found)))

    @property
    def used(self) -> Columns:
        """The table's columns that are read."""
        return used_by((*self.given, *self.found, *self.table_keys), self.attributes)

    @property
    def computed(self) -> tuple[Expression, ...]:
        """What is computed of the rows that come in."""
        return *self.columns, *self.keys

    def over(self, conditions: Sequence[Expression], computed: Sequence[Expression]) -> LookUp:
        """The same look-up of rows that are given otherwise."""
        width = len(self.columns)
        columns, keys = tuple(computed[:width]), tuple(computed[width:])
        return replace(self, conditions=tuple(conditions), columns=columns, keys=keys)


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Each row several times, as an Expand gives them.

    Attributes:
        conditions: what rows must fulfil.
        computed: the columns of all copies, one copy after the other.
        output: the columns of each.
        in_order: whether all copies of a row must come before those of the next.
    """

    conditions: tuple[Expression, ...]
    computed: tuple[Expression, ...]
    output: Columns
    in_order: bool = False

    @property
    def copies(self) -> tuple[tuple[Expression, ...], ...]:
        """The columns of each copy."""
        width = len(self.output)
        starts = range(0, len(self.computed), width)
        return tuple(self.computed[i : i + width] for i in starts)

    @cached_property
    def values(self) -> tuple[Expression, ...]:
        """What all copies are made of, without names: what they share once."""
        return tuple(dict.fromkeys(map(without_alias, self.computed)))

    @cached_property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """Where the columns of each copy stand among the values."""
        places = {value: place for place, value in enumerate(self.values)}
        return tuple(tuple(places[without_alias(e)] for e in copy) for copy in self.copies)

    @cached_property
    def differ(self) -> bool:
        """Whether no two copies are ever the same: those of grouping sets have numbers."""
        for values in zip(*self.copies, strict=True):
            plain = set(map(without_alias, values))
            if len(plain) == len(values) and all(isinstance(v, Constant) for v in plain):
                return True
        return False

    def over(self, conditions: Sequence[Expression], computed: Sequence[Expression]) -> Copies:
        """The same copies of rows that are given otherwise."""
        return replace(self, conditions=tuple(conditions), computed=tuple(computed))


@dataclass(frozen=True, kw_only=True)
class Explode:
    """A row for each element of a row's list, or of its map, in their order.

    Attributes:
        conditions: what rows must fulfil.
        columns: what is kept of rows.
        elements: the list or map.
        generated: the element, or key and value; perhaps the position before it.
        outer: whether a row without elements stays, with nulls.
    """

    conditions: tuple[Expression, ...]
    columns: tuple[Expression, ...]
    elements: Expression
    generated: Columns
    outer: bool

    @property
    def output(self) -> Columns:
        """What is kept of rows, and what they have each of."""
        return *map(to_attribute, self.columns), *self.generated

    @property
    def numbered(self) -> bool:
        """Whether the position of an element comes before it."""
        return len(self.generated) > (2 if isinstance(self.elements.data_type, MapType) else 1)

    @property
    def computed(self) -> tuple[Expression, ...]:
        """What is computed of the rows that come in."""
        return *self.columns, self.elements

    def over(self, conditions: Sequence[Expression], computed: Sequence[Expression]) -> Explode:
        """The same lists of rows that are given otherwise."""
        *columns, elements = computed
        return replace(
            self, conditions=tuple(conditions), columns=tuple(columns), elements=elements
        )


ReadStep = LookUp | Copies | Explode
"""What becomes of rows on the way."""


@dataclass(frozen=True, kw_only=True)
class TaskRows(RuntimeNode):
    """Rows that tasks compute themselves for a kernel, and place.

    Attributes:
        steps: what becomes of the rows on the way, the one nearest their origin first.
        conditions: what rows must fulfil; over the last step's output, or what comes in.
        columns: what is computed, over the same.
        hashed: what the place and the hash of a row are made of.
    """

    expression_fields: ClassVar[tuple[str, ...]] = ("conditions", "columns", "hashed")

    steps: tuple[ReadStep, ...] = ()
    conditions: tuple[Expression, ...] = ()
    columns: tuple[Expression, ...]
    hashed: tuple[Expression, ...]

    @cached_property
    def output(self) -> Columns:
        return tuple(map(to_attribute, self.columns))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What tasks compute: of the rows for each step, and in the end; of tables."""
        raise NotImplementedError

    def _stages_over(self, below: Columns, conditions: tuple[Expression, ...]) -> tuple[Stage, ...]:
        """Those of rows with some columns, which fulfil conditions."""
        found: list[Stage] = []
        for step in self.steps:
            found.append((step.computed, below, (*conditions, *step.conditions)))
            below, conditions = step.output, ()
        found.append(((*self.columns, *self.hashed), below, (*conditions, *self.conditions)))
        tables = (step for step in self.steps if isinstance(step, LookUp))
        return *found, *(((*t.found, *t.table_keys), t.attributes, t.given) for t in tables)


@dataclass(frozen=True, kw_only=True)
class DealOut(TaskRows):
    """Rows of a kernel, which its tasks deal out to those of the kernel above.

    Attributes:
        child: the kernel.
    """

    child_fields = ("child",)

    child: Kernel

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self._stages_over(self.child.output, ())


@dataclass(frozen=True, kw_only=True)
class ReadFiles(TaskRows):
    """Files of a source, which the tasks of the kernel above read by themselves.

    Each task reads all files and keeps the rows whose place is its own. Where all tasks are in one
    process, or rows are dealt, each part of a file is read once.

    Attributes:
        name: the source.
        attributes: its columns.
        read: the columns that a reader is asked for; None: of Parquet files those that are used.
        given: conditions that the reader is given, over these.
        counted: whether the rows that the reader gives are counted.
        before: what rows must fulfil to be observed.
        event_time: the column that is observed, of all those rows; None: none is.
        node_id: of the EventTimeWatermark that observes it.
        origins: whether rows say which partition Spark would read them in.
        dealt: whether other tasks read the files, each some parts, and deal the rows out.
    """

    expression_fields = ("before", "event_time", "conditions", "columns", "hashed")

    name: str
    attributes: Columns
    read: Columns | None = None
    given: tuple[Expression, ...] = ()
    counted: bool = False
    before: tuple[Expression, ...] = ()
    event_time: AttributeReference | None = None
    node_id: str | None = None
    origins: bool = False
    dealt: bool = False

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """See `TaskRows`; and of what is observed."""
        found = self._stages_over(self.attributes, self.before)
        if self.event_time is None:
            return found
        return *found, ((self.event_time,), self.attributes, self.before)

    @cached_property
    def used(self) -> Columns:
        """The source's columns that are read."""
        if self.read is not None:
            return self.read
        values, _, conditions = self.stages[0]
        observed = () if self.event_time is None else (self.event_time,)
        return used_by((*values, *conditions, *observed), self.attributes)


def rows_of_tasks(kernel: Kernel) -> tuple[TaskRows, ...]:
    """What a kernel takes of rows that tasks compute and place themselves: all or nothing."""
    return tuple(rows for rows in kernel.inputs if isinstance(rows, TaskRows))


def are_dealt(rows: Sequence[TaskRows]) -> bool:
    """Whether other tasks than the kernel's compute them, and deal them out."""
    return any(
        isinstance(one, DealOut) or (isinstance(one, ReadFiles) and one.dealt) for one in rows
    )
