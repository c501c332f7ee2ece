"""The nodes of the runtime plan: what one micro-batch does, before any engine does it.

Each node's `output` is typed columns of the planner's own kind; expressions are the planner's own.
Columns are known by their ids: names are for reading, and mean nothing.

    ReadSource, ReadTable              where rows come from
    ReadFiles                          the same, where tasks read it themselves (reading_nodes.py)
    DealOut                            a kernel's rows, on their way to another (reading_nodes.py)
    Select                             conditions, then named expressions
    Exchange                           rows to the tasks of their keys, or to one task
    Union                              rows of several inputs as one stream
    Aggregate                          the engine's own grouping
    Kernel                             one of our stateful operators, over one input or several
    ObserveEventTime, ObserveMetrics, ObserveBuffers, CountRows   figures of the rows that pass
                                       (observing_nodes.py)
    CallPython, CallPythonOnGroups     the user's Python functions, called in this process
    AsIs                               an operator that the engine runs as Spark does
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import ClassVar, Literal

from ...physical.plan import SparkPlan, StateStoreWriter
from ...planner.model.expressions.core import AttributeReference, Expression, to_attribute
from ...planner.model.expressions.python_functions import PythonUDF
from ...planner.model.frozen import dataclass
from ...planner.model.lazy import cached_property
from ...planner.model.plans.query_plan import GivesAttributes, QueryPlan
from ...planner.model.tree import replace
from .carried import Carried
from .specs import KernelSpec

Columns = tuple[AttributeReference, ...]


@dataclass(frozen=True, kw_only=True)
class RuntimeNode(QueryPlan):
    """A node of the runtime plan."""


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
        metadata: how many of these, the last ones, are fields of the hidden column `_metadata`.
        read: those that are read; None: all.
        given: conditions that a reader of files is given; to be fulfilled above, too.
    """

    name: str
    attributes: Columns
    metadata: int = 0
    read: Columns | None = None
    given: tuple[Expression, ...] = ()

    @property
    def output(self) -> Columns:
        return self.attributes if self.read is None else self.read


@dataclass(frozen=True, kw_only=True)
class ReadTable(GivesAttributes, RuntimeNode):
    """Some columns of a table at rest, by name; `given` as a ReadSource has it."""

    name: str
    attributes: Columns
    given: tuple[Expression, ...] = ()


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
class Expand(GivesAttributes, UnaryRuntimeNode):
    """Each row several times, once per projection; `in_arrow` as a Select has it."""

    expression_fields = ("projections", "attributes")

    projections: tuple[tuple[Expression, ...], ...]
    attributes: Columns
    in_arrow: bool = False


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
class Union(GivesAttributes, RuntimeNode):
    """The rows of all inputs, columns by position, in no order."""

    child_fields = ("inputs",)
    expression_fields = ("attributes",)

    inputs: tuple[RuntimeNode, ...]
    attributes: Columns


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

    @cached_property
    def output(self) -> Columns:
        return travelling(self.emitted)


def used_by(expressions: Iterable[Expression], columns: Columns) -> Columns:
    """Those of some columns that expressions refer to."""
    used = {id_ for expression in expressions for id_ in expression.references}
    return tuple(column for column in columns if column.expr_id in used)


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
        rows: how many rows there are; None: those that are counted, if the sources below are
            counted, too, and read to their end.
        passes: whether they pass.
        counted: whether the rows are counted, since how many they are, or the event times that the
            batch sees, depend on reading all of them.
    """

    operator: StateStoreWriter
    spec: KernelSpec
    rows: int | None
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
class CallPythonOnGroups(RuntimeNode):
    """A Python function over the rows of each key, called by our own code, too.

    Attributes:
        inputs: one, or two of which the function gets a key's rows together.
        keys: of each input.
        placing: which of the keys say in which partition a row is.
        partitions: how many of these there are.
        together: whether keys are sorted over all of them; else in each.
        given: the columns of each input that the function gets.
        function: the function.
        results: what it gives.
    """

    child_fields = ("inputs",)
    expression_fields = ("function",)

    inputs: tuple[RuntimeNode, ...]
    keys: tuple[Columns, ...]
    placing: tuple[int, ...]
    partitions: int
    together: bool
    given: tuple[Columns, ...]
    function: PythonUDF
    results: Columns

    @property
    def output(self) -> Columns:
        return self.results


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
