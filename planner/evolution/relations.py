"""What the rows and columns of an executed plan mean, down to the columns of its sources.

One handler per physical operator. A relation's rows are `base` (a source, or an operator that makes
other rows of its input's) and the filters they pass; its columns are symbols over the base. Where
rows lie and in which steps they are computed makes no difference, so exchanges, sorts, stages and
the steps of an aggregation leave no trace.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field, replace
from functools import singledispatch

from ...physical.basic import (
    AdaptiveSparkPlanExec,
    CollectMetricsExec,
    EventTimeWatermarkExec,
    ExpandExec,
    FilterExec,
    GenerateExec,
    LocalTableScanExec,
    ProjectExec,
    StreamingRelationExec,
    UnionExec,
)
from ...physical.exchange import (
    BroadcastExchangeExec,
    CoalesceExec,
    ReusedExchangeExec,
    ShuffleExchangeExec,
    SortExec,
)
from ...physical.plan import SparkPlan
from ...physical.python_operators import EvalPythonExec, UpdateEventTimeColumnExec
from ...physical.scans import ColumnarToRowExec, FileSourceScanExec
from ...physical.stateful import (
    SessionWindowStateStoreRestoreExec,
    SessionWindowStateStoreSaveExec,
    StateStoreRestoreExec,
    StateStoreSaveExec,
)
from ...physical.subqueries import PlannedSubquery
from ..model.expressions.core import Alias, AttributeReference, Expression
from ..model.frozen import dataclass
from ..model.memo import remembered
from ..model.plans.query_plan import QueryPlan
from ..model.text.literal_text import session_time_zone
from .implied import is_null_check, without_implied
from .spelling import Symbol, order_key
from .symbols import (
    Columns,
    conjuncts,
    kind,
    own_fields,
    symbol,
    symbol_of_other,
)
from .zones import reads_instant

TEXT_FORMATS = ("json", "csv", "xml")
_NAMES_IN_ONE_CASE = ("json", "xml")
Rows = tuple[Hashable, frozenset[Symbol]]


@dataclass(frozen=True)
class Watermark:
    """An event time with the delay of its watermark, milliseconds, and the rows that move it.

    Of the filters that these pass, checks for null are left out: Spark adds and moves them.
    """

    rows: Rows
    column: Symbol
    delay_ms: int


@dataclass(frozen=True)
class Relation:
    """What an operator gives.

    Attributes:
        base: the rows before filters.
        filters: what a row fulfils, each condition once.
        columns: what each column below means, by id; more of them than the operator gives.
        watermarks: those that the rows have passed.
    """

    base: Hashable
    filters: frozenset[Symbol] = frozenset()
    columns: Columns = field(default_factory=dict)
    watermarks: frozenset[Watermark] = frozenset()

    @property
    def rows(self) -> Rows:
        """Which rows there are."""
        return self.base, self.filters

    def of(self, expression: Expression) -> Symbol:
        """What an expression over the columns means."""
        return symbol(expression, self.columns)

    def all_of(self, expressions: Iterable[Expression]) -> tuple[Symbol, ...]:
        """What expressions mean, in order."""
        return tuple(map(self.of, expressions))

    def outputs(self, plan: QueryPlan) -> tuple[Symbol, ...]:
        """What the columns of the operator mean, in order."""
        return self.all_of(plan.output)

    def with_columns(self, new: Mapping[int, Symbol]) -> Relation:
        """The same rows with more columns."""
        return replace(self, columns={**self.columns, **new})

    def remade(self, base: Hashable, new: Mapping[int, Symbol] | None = None) -> Relation:
        """Other rows made of these; the filters have done their work."""
        relation = replace(self, base=base, filters=frozenset())
        return relation if new is None else relation.with_columns(new)


@remembered
def relation_of(plan: SparkPlan) -> Relation:
    """What an operator's rows and columns mean."""
    return handler(plan)


@symbol_of_other.register
def _(expression: PlannedSubquery, columns: Columns) -> Symbol:
    inner = relation_of(expression.computed.child)
    return ("subquery", inner.rows, inner.outputs(expression.computed.child))


@singledispatch
def handler(plan: SparkPlan) -> Relation:
    """An operator without a handler: all of its fields count, and the columns it is given."""
    inputs = [relation_of(child) for child in plan.children]
    columns: dict[int, Symbol] = {k: v for each in inputs for k, v in each.columns.items()}
    skipped = {*plan.child_fields, "codegen_stage", "plan_id", "state_info", "attributes"}
    skipped |= {"state_type"}  # of which a function sees the values alone
    skipped |= {"event_time_watermark_for_late_events", "event_time_watermark_for_eviction"}
    given = tuple(i.outputs(c) for i, c in zip(inputs, plan.children, strict=True))
    base = (*own_fields(plan, columns, skipped), tuple(i.rows for i in inputs), given)
    passed = frozenset(c.expr_id for child in plan.children for c in child.output)
    new: dict[int, Symbol] = {
        a.expr_id: ("made", type(plan).__name__, i)
        for i, a in enumerate(plan.output)
        if a.expr_id not in passed
    }
    marks = frozenset(mark for i in inputs for mark in i.watermarks)
    return Relation(base, columns={**columns, **new}, watermarks=marks)


@handler.register
def _(plan: StreamingRelationExec) -> Relation:
    return Relation(("stream", plan.name), columns=_source_columns(plan.attributes, plan.format))


@handler.register
def _(plan: FileSourceScanExec) -> Relation:
    return Relation(("table", plan.name), columns=_source_columns(plan.attributes, plan.format))


@handler.register
def _(plan: LocalTableScanExec) -> Relation:
    rows = tuple(tuple(symbol(value, {}) for value in row) for row in plan.rows)
    columns: dict[int, Symbol] = {a.expr_id: ("place", i) for i, a in enumerate(plan.attributes)}
    return Relation(("rows", rows), columns=columns)


def _source_columns(
    attributes: Iterable[AttributeReference], file_format: str
) -> dict[int, Symbol]:
    """Text may hold timestamps without an offset: the zone says what instants they are.

    Columns of JSON and XML are found by their names as they are written.
    """
    exact = file_format in _NAMES_IN_ONE_CASE
    zone = session_time_zone() if file_format in TEXT_FORMATS else None
    return {
        a.expr_id: ("column", a.name if exact else a.name.lower(), kind(a.data_type))
        + ((zone,) if zone is not None and reads_instant(a.data_type) else ())
        for a in attributes
    }


@handler.register(ShuffleExchangeExec)
@handler.register(BroadcastExchangeExec)
@handler.register(SortExec)
@handler.register(AdaptiveSparkPlanExec)
@handler.register(ColumnarToRowExec)
@handler.register(CoalesceExec)
@handler.register(CollectMetricsExec)
@handler.register(StateStoreRestoreExec)
@handler.register(StateStoreSaveExec)
@handler.register(SessionWindowStateStoreRestoreExec)
@handler.register(SessionWindowStateStoreSaveExec)
@handler.register(UpdateEventTimeColumnExec)
def _(plan: SparkPlan) -> Relation:
    return relation_of(plan.children[0])


@handler.register
def _(plan: ReusedExchangeExec) -> Relation:
    inner = relation_of(plan.exchange.child)
    pairs = zip(plan.output, plan.exchange.output, strict=True)
    return inner.with_columns({own.expr_id: inner.of(other) for own, other in pairs})


@handler.register
def _(plan: ProjectExec) -> Relation:
    below = relation_of(plan.child)
    return below.with_columns(named(plan.project_list, below))


def named(expressions: Iterable[Expression], below: Relation) -> dict[int, Symbol]:
    """The columns that aliases make."""
    return {e.expr_id: below.of(e.child) for e in expressions if isinstance(e, Alias)}


@handler.register
def _(plan: FilterExec) -> Relation:
    below = relation_of(plan.child)
    filters = below.filters | conjuncts(plan.condition, below.columns)
    return replace(below, filters=without_implied(filters))


@handler.register
def _(plan: EventTimeWatermarkExec) -> Relation:
    below = relation_of(plan.child)
    filters = frozenset(f for f in below.filters if not is_null_check(f))
    mark = Watermark((below.base, filters), below.of(plan.event_time), plan.delay_ms)
    return replace(below, watermarks=below.watermarks | {mark})


@handler.register
def _(plan: EvalPythonExec) -> Relation:
    below = relation_of(plan.child)
    pairs = zip(plan.results, plan.functions, strict=True)
    return below.with_columns({column.expr_id: below.of(call) for column, call in pairs})


@handler.register
def _(plan: ExpandExec) -> Relation:
    """A filter below may as well stand above: it names columns that all copies of a row have.

    The order of the copies makes no difference.
    """
    below = relation_of(plan.child)
    columns: dict[int, Symbol] = {}
    copies = sorted((tuple(map(below.of, p)) for p in plan.projections), key=order_key)
    for i, column in enumerate(plan.attributes):
        values = tuple(copy[i] for copy in copies)
        one = values[0] if len(set(values)) == 1 else ("one of", values)
        columns[column.expr_id] = one
    base = ("expand", len(plan.projections), below.base)
    return replace(below.with_columns(columns), base=base)


@handler.register
def _(plan: GenerateExec) -> Relation:
    below = relation_of(plan.child)
    generator = below.of(plan.generator)
    columns: dict[int, Symbol] = {
        a.expr_id: ("generated", i, generator) for i, a in enumerate(plan.generated)
    }
    base = ("generate", plan.outer, generator, below.base)
    return replace(below.with_columns(columns), base=base)


@handler.register
def _(plan: UnionExec) -> Relation:
    """The order of the inputs makes no difference; their columns go by position."""
    inputs = [(relation_of(i), relation_of(i).outputs(i)) for i in plan.inputs]
    inputs.sort(key=lambda pair: order_key((pair[0].rows, pair[1])))
    base = ("union", tuple(relation.rows for relation, _ in inputs))
    columns: dict[int, Symbol] = {}
    for i, column in enumerate(plan.attributes):
        columns[column.expr_id] = ("united", tuple(outputs[i] for _, outputs in inputs))
    marks = frozenset(mark for relation, _ in inputs for mark in relation.watermarks)
    return Relation(base, columns=columns, watermarks=marks)
