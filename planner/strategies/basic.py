"""Strategies for the stateless operators."""

from __future__ import annotations

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
from ...physical.scans import FileSourceScanExec
from ..model.expressions.core import Expression, Literal, SortOrder, to_attribute
from ..model.expressions.predicates import conjunction_or_none, split_conjuncts
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
    Window,
    WindowGroupLimit,
)
from ..model.plans.partitions import (
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
    Sample,
)
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import LocalRelation, OneRowRelation, Range, Relation
from ..model.tree import replace
from .base import PlanLater, match_limit, match_top
from .batch_aggregation import plan_batch_aggregation


def partition_operators(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Repartition, RepartitionByExpression, RebalancePartitions, Sample and Range."""
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
        case Sample(child=child):
            return SampleExec(
                lower=logical.lower,
                upper=logical.upper,
                with_replacement=logical.with_replacement,
                seed=logical.seed,
                child=plan_later(child),
            )
        case Range():
            return RangeExec(
                start=logical.start,
                end=logical.end,
                step=logical.step,
                slices=logical.slices,
                attributes=logical.attributes,
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


_COLUMNAR = ("parquet", "orc")


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
        table.format in _COLUMNAR
        and plan_later.conf.flag("spark.sql.codegen.wholeStage")
        and len(read) <= widest
    )
    return FileSourceScanExec(
        name=table.name,
        format=table.format,
        identifier=table.identifier,
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


def basic_operators(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """The operators that become one physical operator each."""
    match logical:
        case Project(project_list=columns, child=child):
            return ProjectExec(project_list=columns, child=plan_later(child))
        case Filter(condition=condition, child=child):
            return FilterExec(condition=condition, child=plan_later(child))
        case Aggregate():
            return plan_batch_aggregation(logical, plan_later)
        case CollectMetrics(name=name, metrics=metrics, child=child):
            return CollectMetricsExec(name=name, metrics=metrics, child=plan_later(child))
        case Expand(projections=projections, attributes=attributes, child=child):
            return ExpandExec(
                projections=projections, attributes=attributes, child=plan_later(child)
            )
        case Generate():
            return _generate(logical, plan_later)
        case Window(windows=windows, partition_by=by, order_by=order, child=child):
            return WindowExec(
                windows=windows, partition_by=by, order_by=order, child=plan_later(child)
            )
        case WindowGroupLimit():
            return _group_limit(logical, plan_later)
        case Union(inputs=inputs):
            planned = tuple(plan_later(plan) for plan in inputs)
            generates = plan_later.conf.flag("spark.sql.codegen.wholeStage.union.enabled")
            return UnionExec(inputs=planned, attributes=logical.output, may_generate=generates)
        case Sort(order=order, is_global=is_global, child=child):
            return SortExec(order=order, is_global=is_global, child=plan_later(child))
        case LocalLimit(limit=Literal(value=int(limit)), child=child):
            return LocalLimitExec(limit=limit, child=plan_later(child))
        case GlobalLimit(limit=Literal(value=int(limit)), child=child):
            return GlobalLimitExec(limit=limit, child=plan_later(child))
        case LocalRelation(attributes=attributes, rows=rows):
            return LocalTableScanExec(attributes=attributes, rows=rows)
        case OneRowRelation():
            return RDDScanExec()
        case _:
            return None


def _group_limit(logical: WindowGroupLimit, plan_later: PlanLater) -> SparkPlan:
    partial = WindowGroupLimitExec(
        partition_by=logical.partition_by,
        order_by=logical.order_by,
        rank=logical.rank,
        limit=logical.limit,
        mode="Partial",
        child=plan_later(logical.child),
    )
    return replace(partial, mode="Final", child=partial)


def _generate(logical: Generate, plan_later: PlanLater) -> SparkPlan:
    kept = logical.child.output if logical.required is None else logical.required
    return GenerateExec(
        generator=logical.generator,
        required=kept,
        outer=logical.outer,
        generated=tuple(map(to_attribute, logical.generated)),
        child=plan_later(logical.child),
    )
