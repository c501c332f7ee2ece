"""Strategies for the stateless operators."""

from __future__ import annotations

from collections.abc import Mapping

from ...physical.aggregate import WindowExec, WindowGroupLimitExec
from ...physical.basic import (
    CollectLimitExec,
    CollectMetricsExec,
    ExpandExec,
    FilterExec,
    GenerateExec,
    GlobalLimitExec,
    LocalLimitExec,
    LocalTableScanExec,
    ProjectExec,
    RDDScanExec,
    StreamingRelationExec,
    UnionExec,
)
from ...physical.distribution import (
    HashPartitioning,
    Partitioning,
    RangePartitioning,
    RoundRobinPartitioning,
    SinglePartition,
)
from ...physical.exchange import (
    NOT_NUMBERED,
    CoalesceExec,
    RangeExec,
    SampleExec,
    ShuffleExchangeExec,
    ShuffleOrigin,
    SortExec,
    TakeOrderedAndProjectExec,
)
from ...physical.plan import SparkPlan
from ...physical.python_operators import EvalPythonExec, MapInPythonExec
from ...physical.scans import FileSourceScanExec
from ..model.expressions.core import Expression, Literal, SortOrder, to_attribute
from ..model.expressions.predicates import conjunction_or_none, split_conjuncts
from ..model.formats import COLUMNAR_FORMATS
from ..model.plans.logical import (
    Aggregate,
    CollectMetrics,
    Expand,
    Filter,
    Generate,
    GlobalLimit,
    LocalLimit,
    Project,
    ReturnAnswer,
    Sort,
    Union,
)
from ..model.plans.partitions import (
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
    Sample,
)
from ..model.plans.python_operators import EvaluatePython, MapInPython
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import (
    LocalRelation,
    OneRowRelation,
    Range,
    Relation,
    StreamingRelation,
)
from ..model.plans.windows import Window, WindowGroupLimit
from ..model.tree import replace
from .base import PlanLater, match_limit, match_top, planned_as
from .batch_aggregation import plan_batch_aggregation


def partition_operators(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Repartition, RepartitionByExpression and RebalancePartitions."""
    match logical:
        case Repartition(num_partitions=number, shuffle=False, child=child):
            return CoalesceExec(num_partitions=number, child=plan_later(child))
        case Repartition(num_partitions=number, child=child):
            return _exchange(_partitioning((), number), "REPARTITION_BY_NUM", plan_later(child))
        case RepartitionByExpression(by=by, num_partitions=given, child=child):
            number = given or plan_later.conf.shuffle_partitions
            origin: ShuffleOrigin = "REPARTITION_BY_NUM" if given else "REPARTITION_BY_COL"
            if not by and given is None:
                origin = "REBALANCE_PARTITIONS_BY_NONE"
            return _exchange(_partitioning(by, number), origin, plan_later(child))
        case RebalancePartitions(by=by, num_partitions=given, child=child):
            number = given or plan_later.conf.shuffle_partitions
            return _exchange(
                _partitioning(by, number),
                "REBALANCE_PARTITIONS_BY_COL" if by else "REBALANCE_PARTITIONS_BY_NONE",
                plan_later(child),
            )
        case _:
            return None


def _partitioning(by: tuple[Expression, ...], number: int) -> Partitioning:
    if number == 1:
        return SinglePartition()
    if not by:
        return RoundRobinPartitioning(number)
    order = tuple(e for e in by if isinstance(e, SortOrder))
    if len(order) == len(by):
        return RangePartitioning(number, order)
    return HashPartitioning(number, by)


def _exchange(partitioning: Partitioning, origin: ShuffleOrigin, child: SparkPlan) -> SparkPlan:
    return ShuffleExchangeExec(
        partitioning=partitioning, origin=origin, plan_id=NOT_NUMBERED, child=child
    )


def file_source(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """A table's files under its filter and projection: only the columns that these need."""
    columns: tuple[Expression, ...] | None = None
    below = logical
    if isinstance(below, Project):
        columns, below = below.project_list, below.child
    conditions: list[Expression] = []
    if isinstance(below, Filter):
        conditions, below = split_conjuncts(below.condition), below.child
    if not isinstance(below, Relation):
        return None
    scanned = _scan(below, columns, conditions, plan_later)
    kept = conjunction_or_none(conditions)
    plan = scanned if kept is None else FilterExec(condition=kept, child=scanned)
    # Where a filter rules nulls out the columns differ, and a later rule asks whether it matters.
    columns = scanned.output if columns is None else columns
    return plan if columns == plan.output else ProjectExec(project_list=columns, child=plan)


def _scan(
    table: Relation,
    columns: tuple[Expression, ...] | None,
    conditions: list[Expression],
    plan_later: PlanLater,
) -> SparkPlan:
    needed = frozenset().union(*(e.references for e in (*(columns or ()), *conditions)))
    read = tuple(a for a in table.attributes if columns is None or a.expr_id in needed)
    widest = plan_later.conf.integer("spark.sql.codegen.maxFields")
    batched = (
        table.format in COLUMNAR_FORMATS
        and plan_later.conf.flag("spark.sql.codegen.wholeStage")
        and len(read) <= widest
    )
    return planned_as(
        FileSourceScanExec,
        table,
        plan_later,
        attributes=read,
        data_filters=tuple(c for c in conditions if c.deterministic),
        batched=batched,
        longest=plan_later.conf.integer("spark.sql.maxMetadataStringLength"),
    )


_TOP_K = "spark.sql.execution.topKSortFallbackThreshold"


def special_limits(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """LIMIT of a batch's answer: the top rows of a sort, or the first rows collected."""
    answer = logical.child if isinstance(logical, ReturnAnswer) else logical
    most = plan_later.conf.integer(_TOP_K)
    match match_top(answer):
        case (limit, order, columns, child) if limit < most:
            return TakeOrderedAndProjectExec(
                limit=limit, order=order, project_list=columns, child=plan_later(child)
            )
    if not isinstance(logical, ReturnAnswer):
        return None
    match match_limit(answer):
        case (limit, child):
            return CollectLimitExec(limit=limit, child=plan_later(child))
        case _:
            return plan_later(answer)


_ALIKE: Mapping[type[LogicalPlan], type[SparkPlan]] = {
    Project: ProjectExec,
    Filter: FilterExec,
    CollectMetrics: CollectMetricsExec,
    Expand: ExpandExec,
    Window: WindowExec,
    Sort: SortExec,
    Sample: SampleExec,
    Range: RangeExec,
    LocalRelation: LocalTableScanExec,
    OneRowRelation: RDDScanExec,
    StreamingRelation: StreamingRelationExec,
    EvaluatePython: EvalPythonExec,
    MapInPython: MapInPythonExec,
}
"""What becomes an operator with the same fields."""


def basic_operators(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """The operators that become one physical operator each."""
    kind = _ALIKE.get(type(logical))
    if kind is not None:
        return planned_as(kind, logical, plan_later)
    match logical:
        case Aggregate():
            return plan_batch_aggregation(logical, plan_later)
        case Generate():
            return _generate(logical, plan_later)
        case WindowGroupLimit():
            partial = planned_as(WindowGroupLimitExec, logical, plan_later, mode="Partial")
            return replace(partial, mode="Final", child=partial)
        case Union():
            generates = plan_later.conf.flag("spark.sql.codegen.wholeStage.union.enabled")
            columns = logical.output
            return planned_as(
                UnionExec, logical, plan_later, attributes=columns, may_generate=generates
            )
        case LocalLimit(limit=Literal(value=int(limit))):
            return planned_as(LocalLimitExec, logical, plan_later, limit=limit)
        case GlobalLimit(limit=Literal(value=int(limit))):
            return planned_as(GlobalLimitExec, logical, plan_later, limit=limit)
        case _:
            return None


def _generate(logical: Generate, plan_later: PlanLater) -> SparkPlan:
    kept = logical.child.output if logical.required is None else logical.required
    generated = tuple(map(to_attribute, logical.generated))
    return planned_as(GenerateExec, logical, plan_later, required=kept, generated=generated)
