"""Strategies for the stateless operators."""

from __future__ import annotations

from ...physical.basic import (
    CollectLimitExec,
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
from ...physical.exchange import SortExec, TakeOrderedAndProjectExec
from ...physical.metrics import CollectMetricsExec
from ...physical.plan import SparkPlan
from ...physical.windows import WindowExec, WindowGroupLimitExec
from ..model.expressions.core import Literal, to_attribute
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
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import LocalRelation, OneRowRelation
from ..model.tree import replace
from .base import PlanLater
from .batch_aggregation import plan_batch_aggregation
from .limits import match_limit, match_top

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
