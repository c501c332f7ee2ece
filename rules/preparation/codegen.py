"""Stages of generated code, transitions from columns to rows, plans that Spark re-plans."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from ...physical.basic import AdaptiveSparkPlanExec, LocalTableScanExec, StreamingRelationExec
from ...physical.distribution import UnspecifiedDistribution
from ...physical.exchange import ShuffleExchangeExec
from ...physical.joins import ShuffledJoinExec
from ...physical.plan import SparkPlan, StatefulOperator
from ...physical.scans import ColumnarToRowExec, FileSourceScanExec
from ...physical.subqueries import PlannedSubquery
from ...planner.model.expressions.core import Call, Expression
from ...planner.model.expressions.subqueries import SubqueryExpression
from ...planner.model.memo import remembered
from ...planner.model.tree import replace
from ..common.types import leaf_count
from .execution import Execution

_STATELESS = "spark.sql.adaptive.streaming.stateless.enabled"


def mark_adaptive(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Put AdaptiveSparkPlan over a stateless plan with a shuffle; stateful plans never adapt.

    Idempotent: a marked plan has its exchanges below the mark.
    """
    if isinstance(plan, AdaptiveSparkPlanExec) or not adapts(plan, execution):
        return plan
    return AdaptiveSparkPlanExec(child=plan)


def adapts(plan: SparkPlan, execution: Execution) -> bool:
    """Whether a plan is re-planned while it runs; a subquery's is where the plan around it is."""
    if execution.adaptive is not None:
        return execution.adaptive
    if not execution.conf.flag("spark.sql.adaptive.enabled"):
        return False
    if plan.holds(StatefulOperator):
        return False
    if not execution.conf.flag(_STATELESS) and plan.holds(StreamingRelationExec):
        return False
    return execution.conf.flag("spark.sql.adaptive.forceApply") or plan.exists(_shuffles)


def _is_subquery(expression: Expression) -> bool:
    return isinstance(expression, SubqueryExpression | PlannedSubquery)


def _shuffles(node: SparkPlan) -> bool:
    if any(e.exists(_is_subquery) for e in node.expressions):
        return True
    return isinstance(node, ShuffleExchangeExec) or any(
        not isinstance(d, UnspecifiedDistribution) for d in node.required_child_distribution
    )


def insert_transitions(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """`FileScan` in batches of columns -> `ColumnarToRow, FileScan`.

    A plan that Spark re-plans at run time gets its transitions only then. Idempotent.
    """
    if isinstance(plan, AdaptiveSparkPlanExec) or not plan.holds(FileSourceScanExec):
        return plan
    return _inserted(plan)


def _inserted(plan: SparkPlan) -> SparkPlan:
    if isinstance(plan, ColumnarToRowExec):
        return plan
    if isinstance(plan, FileSourceScanExec):
        return ColumnarToRowExec(child=plan) if plan.batched else plan
    return plan.map_children(_inserted)


def collapse_codegen_stages(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Give each chain of operators with generated code a common stage number.

    Stages are numbered bottom-up, left to right; an operator without generated code, or with an
    expression or too many columns that rule it out, ends the chains on both sides. A local table
    joins a stage but starts none. Idempotent as long as no exchange is reused.
    """
    adaptive = isinstance(plan, AdaptiveSparkPlanExec)
    conf = execution.conf
    never = conf["spark.sql.codegen.factoryMode"].upper() == "NO_CODEGEN"
    if adaptive or never or not conf.flag("spark.sql.codegen.wholeStage"):
        return plan
    widest = execution.conf.integer("spark.sql.codegen.maxFields")
    return _outside(plan, itertools.count(1), widest)


def _outside(plan: SparkPlan, numbers: Iterator[int], widest: int) -> SparkPlan:
    """A plan whose parent is in no stage: it may be the top of one."""
    if isinstance(plan, LocalTableScanExec) or not _generates(plan, widest):
        return _over(plan, numbers, widest)
    marked = _marked(plan, numbers, widest)
    return marked(next(numbers))  # only now: the stages below come first


def _inside(plan: SparkPlan, numbers: Iterator[int], widest: int) -> Callable[[int], SparkPlan]:
    """A plan whose parent is in a stage, waiting for that stage's number."""
    if not _generates(plan, widest):
        finished = _over(plan, numbers, widest)
        return lambda stage: finished
    return _marked(plan, numbers, widest)


def _over(plan: SparkPlan, numbers: Iterator[int], widest: int) -> SparkPlan:
    return plan.map_children(lambda child: _outside(child, numbers, widest))


def _marked(plan: SparkPlan, numbers: Iterator[int], widest: int) -> Callable[[int], SparkPlan]:
    """A plan in a stage."""
    if isinstance(plan, ShuffledJoinExec):
        sides: list[SparkPlan] = [_outside(child, numbers, widest) for child in plan.children]
        return lambda stage: replace(plan, left=sides[0], right=sides[1], codegen_stage=stage)
    below = [_inside(child, numbers, widest) for child in plan.children]

    def marked(stage: int) -> SparkPlan:
        children = tuple(child(stage) for child in below)
        return replace(plan.with_new_children(children), codegen_stage=stage)

    return marked


def _generates(plan: SparkPlan, widest: int) -> bool:
    return (
        plan.supports_codegen
        and _width(plan) <= widest
        and all(_width(child) <= widest for child in plan.children)
        and not any(map(_falls_back, plan.expressions))
    )


@remembered
def _falls_back(expression: Expression) -> bool:
    """Whether no code is generated for a part of it."""
    without = isinstance(expression, Call) and expression.arguments and not expression.spec.codegen
    return bool(without) or any(map(_falls_back, expression.children))


@remembered
def _width(plan: SparkPlan) -> int:
    """How many columns the plan gives, those of structs counted."""
    return sum(leaf_count(a.data_type) for a in plan.output)
