"""The nodes of the runtime plan: what one micro-batch does, before any engine does it.

Each node's `output` is typed columns of the planner's own kind; expressions are the planner's own.
Columns are known by their ids: names are for reading, and mean nothing.

    ReadSource, ReadTable, ReadFiles   where rows come from
    Select                             conditions, then named expressions
    Exchange                           rows to the tasks of their keys, or to one task
    Union                              rows of several inputs as one stream
    Aggregate                          the engine's own grouping
    Kernel                             one stateful operator of ours, over one input or several
    ObserveEventTime, ObserveMetrics, ObserveBuffers, CountRows   figures of the rows that pass
                                       (observing_nodes.py)
    CallPython                         the user's Python functions, called in this process
    AsIs                               an operator that the engine runs as Spark does
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import ClassVar, Literal

from ...physical.plan import SparkPlan, StateStoreWriter
from ...planner.model.expressions.core import (
    AttributeReference,
    Expression,
    to_attribute,
    without_alias,
)
from ...planner.model.expressions.core import Literal as Constant
from ...planner.model.expressions.python_functions import PythonUDF
from ...planner.model.frozen import dataclass
from ...planner.model.lazy import cached_property
from ...planner.model.plans.query_plan import QueryPlan
from ...planner.model.tree import replace
from .carried import Carried
from .specs import KernelSpec

Columns = tuple[AttributeReference, ...]
Stage = tuple[tuple[Expression, ...], Columns, tuple[Expression, ...]]
"""Expressions, the columns that they are over, and the conditions of the rows they are of."""


@dataclass(frozen=True, kw_only=True)
class RuntimeNode(QueryPlan):
    """A node of the runtime plan."""

    @property
    def node_name(self) -> str:
        """The node's name in texts."""
        return type(self).__name__


@dataclass(frozen=True, kw_only=True)
class UnaryRuntimeNode(RuntimeNode):
    """One child, whose columns pass unless a node says otherwise."""

    child_fields = ("child",)

    child: RuntimeNode

    @cached_property
    def output(self) -> Columns:
        return self.child.output


# ------------------------------------------------------------------------------------------ leaves


@dataclass(frozen=True, kw_only=True)
class ReadSource(RuntimeNode):
    """The rows that a stream's source gives for the batch; columns in the order of its schema.

    Attributes:
        name: the source.
        attributes: all columns of the source.
        read: those that are read; None: all.
        given: conditions that a reader of files is given; to be fulfilled above, too.
    """

    name: str
    attributes: Columns
    read: Columns | None = None
    given: tuple[Expression, ...] = ()

    @property
    def output(self) -> Columns:
        return self.attributes if self.read is None else self.read


@dataclass(frozen=True, kw_only=True)
class ReadTable(RuntimeNode):
    """Some columns of a table at rest, by name; `given` as a ReadSource has it."""

    name: str
    attributes: Columns
    given: tuple[Expression, ...] = ()

    @property
    def output(self) -> Columns:
        return self.attributes


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
    join_type: Literal["Inner", "LeftOuter", "LeftSemi", "LeftAnti"]
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
        return _used(self.attributes, (*self.given, *self.found, *self.table_keys))

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

    @property
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
class ReadFiles(RuntimeNode):
    """Files of a source, which the tasks of the kernel above read by themselves.

    Each task reads all files and keeps the rows whose place is its own. Where all tasks are in one
    process, or rows are dealt, each part of a file is read once.

    Attributes:
        name: the source.
        read: the columns that a reader is asked for; None: of Parquet files those that are used.
        given: conditions that the reader is given, over these.
        counted: whether the rows that the reader gives are counted.
        before: what rows must fulfil to be observed.
        event_time: the column that is observed, of all those rows; None: none is.
        node_id: of the EventTimeWatermark that observes it.
        steps: what becomes of the rows on the way, the one nearest the source first.
        conditions: what rows must fulfil, besides, to be read; over the last step's output, or,
            like `before`, over the source's columns `attributes`.
        columns: what is read, over the same.
        hashed: what the place and the hash of a row are made of.
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
    steps: tuple[LookUp | Copies, ...] = ()
    conditions: tuple[Expression, ...] = ()
    columns: tuple[Expression, ...]
    hashed: tuple[Expression, ...]
    origins: bool = False
    dealt: bool = False

    @cached_property
    def output(self) -> Columns:
        return tuple(map(to_attribute, self.columns))

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """What tasks compute: of the rows for each step, and of all that is read; of what is
        observed, and of tables."""
        found: list[Stage] = []
        below, conditions = self.attributes, self.before
        for step in self.steps:
            found.append((step.computed, below, (*conditions, *step.conditions)))
            below, conditions = step.output, ()
        found.append(((*self.columns, *self.hashed), below, (*conditions, *self.conditions)))
        if self.event_time is not None:
            found.append(((self.event_time,), self.attributes, self.before))
        tables = (step for step in self.steps if isinstance(step, LookUp))
        return *found, *(((*t.found, *t.table_keys), t.attributes, t.given) for t in tables)

    @cached_property
    def used(self) -> Columns:
        """The source's columns that are read."""
        if self.read is not None:
            return self.read
        values, _, conditions = self.stages[0]
        observed = () if self.event_time is None else (self.event_time,)
        return _used(self.attributes, (*values, *conditions, *observed))


def _used(columns: Columns, expressions: Sequence[Expression]) -> Columns:
    ids = {id_ for e in expressions for id_ in e.references}
    return tuple(a for a in columns if a.expr_id in ids)


# --------------------------------------------------------------------------------------- row by row


@dataclass(frozen=True, kw_only=True)
class Select(UnaryRuntimeNode):
    """The rows that fulfil all conditions; of them, columns. Conditions see the child's columns.

    Attributes:
        in_arrow: our own Arrow code computes it, not the engine.
    """

    expression_fields = ("conditions", "columns")

    conditions: tuple[Expression, ...] = ()
    columns: tuple[Expression, ...]
    in_arrow: bool = False

    @cached_property
    def output(self) -> Columns:
        return tuple(map(to_attribute, self.columns))


@dataclass(frozen=True, kw_only=True)
class Apart(UnaryRuntimeNode):
    """The rows as they are, for an engine that would compute what stands above further below."""


@dataclass(frozen=True, kw_only=True)
class Expand(UnaryRuntimeNode):
    """Each row several times, once per projection; `in_arrow` as a Select has it."""

    expression_fields = ("projections", "attributes")

    projections: tuple[tuple[Expression, ...], ...]
    attributes: Columns
    in_arrow: bool = False

    @property
    def output(self) -> Columns:
        return self.attributes


@dataclass(frozen=True, kw_only=True)
class Exchange(UnaryRuntimeNode):
    """Moves rows to other tasks.

    Attributes:
        to: `keys`: a row goes to the task of its keys' hash; `one`: all go to one task; `any`: to
            any task, so that what stands above starts anew from what has arrived.
        keys: what is hashed.
    """

    expression_fields = ("keys",)

    to: Literal["keys", "one", "any"]
    keys: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Union(RuntimeNode):
    """The rows of all inputs, columns by position, in no order."""

    child_fields = ("inputs",)
    expression_fields = ("attributes",)

    inputs: tuple[RuntimeNode, ...]
    attributes: Columns

    @property
    def output(self) -> Columns:
        return self.attributes


@dataclass(frozen=True, kw_only=True)
class Aggregate(UnaryRuntimeNode):
    """The engine's own grouping, with the exchange that it needs: one row for each group.

    Without keys there is one row in all.

    Attributes:
        keys: named expressions.
        aggregates: named expressions over aggregate functions.
        placed: whether groups must lie where Spark's hash of their keys says, for a kernel.
    """

    expression_fields = ("keys", "aggregates")

    keys: tuple[Expression, ...]
    aggregates: tuple[Expression, ...]
    placed: bool = False

    @cached_property
    def output(self) -> Columns:
        return tuple(map(to_attribute, (*self.keys, *self.aggregates)))


@dataclass(frozen=True, kw_only=True)
class Kernel(RuntimeNode):
    """A stateful operator: each task restores, merges, emits and saves its stores' rows.

    An input gives the parts of `taken`, in order, behind PLACE, HASH if `placed`.

    Attributes:
        inputs: where rows come from, each lying where its keys' stores are.
        operator: the physical operator: state info, watermarks, names in checkpoints; None: there
            is no state, and the kernel sees all rows at once.
        spec: what the kernel does.
        taken: the columns that it takes, as they travel.
        emitted: the columns that it gives, as they travel.
        hashed: what a row's place (Spark's `hash`) and hash (`xxhash64`) are made of, over the
            inputs' columns.
        single: all rows are in one task, and in store 0.
        origin: the column that says which partition a row was read in, if the spec asks for it.
        placed: whether the inputs begin with the two columns of place and hash.
    """

    child_fields = ("inputs",)
    expression_fields: ClassVar[tuple[str, ...]] = ("hashed",)

    inputs: tuple[RuntimeNode, ...]
    operator: StateStoreWriter | None
    spec: KernelSpec
    taken: tuple[Carried, ...]
    emitted: tuple[Carried, ...]
    hashed: tuple[Expression, ...] = ()
    single: bool = False
    origin: AttributeReference | None = None
    placed: bool = False

    @property
    def operator_id(self) -> int:
        """The id of the operator, under which its state lies."""
        info = None if self.operator is None else self.operator.state_info
        assert info is not None, "the state rule has given an id"
        return info.operator_id

    @property
    def reads_files(self) -> bool:
        """Whether its tasks read files themselves."""
        return any(isinstance(rows, ReadFiles) for rows in self.inputs)

    @cached_property
    def output(self) -> Columns:
        return travelling(self.emitted)


def travelling(columns: Sequence[Carried]) -> Columns:
    """The columns that travel for some columns of a kernel."""
    return tuple(part for column in columns for part in column.parts)


@dataclass(frozen=True, kw_only=True)
class PassingLimit(UnaryRuntimeNode):
    """A limit over the query's life of which it is known that all rows of the batch pass, or none.

    Its one row of state is written without a look at the rows.

    Attributes:
        operator: the physical operator.
        spec: what its kernel would do.
        rows: how many rows there are.
        passes: whether they pass.
        counted: whether the rows are counted, since the event times that the batch sees depend on
            reading all of them.
    """

    operator: StateStoreWriter
    spec: KernelSpec
    rows: int
    passes: bool
    counted: bool


@dataclass(frozen=True, kw_only=True)
class CallPython(UnaryRuntimeNode):
    """The user's Python functions without state, where our own code calls them, not the engine.

    Attributes:
        functions: over the child's columns, or of each other's results.
        results: what they give.
        over_partitions: the one function gives rows of its own; else the child's columns pass, and
            each function gives one more.
    """

    expression_fields = ("functions",)

    functions: tuple[PythonUDF, ...]
    results: Columns
    over_partitions: bool = False

    @cached_property
    def output(self) -> Columns:
        return self.results if self.over_partitions else (*self.child.output, *self.results)


@dataclass(frozen=True, kw_only=True)
class AsIs(RuntimeNode):
    """A physical operator that the engine runs as Spark does: joins with tables, sorts, ...

    Its own children do not count: `inputs` stand for them.

    Attributes:
        in_order: whether a join's rows must come in Spark's order.
    """

    child_fields = ("inputs",)

    inputs: tuple[RuntimeNode, ...]
    operator: SparkPlan
    in_order: bool = False

    @property
    def node_name(self) -> str:
        return self.operator.node_name

    @cached_property
    def output(self) -> Columns:
        return self.operator.output


def with_inputs(node: AsIs | Kernel, change: Callable[[RuntimeNode], RuntimeNode]) -> RuntimeNode:
    """A node over other inputs; itself if none is another."""
    inputs = tuple(map(change, node.inputs))
    return node if all(map(is_, inputs, node.inputs)) else replace(node, inputs=inputs)
