"""The strategy for tables of files."""

from __future__ import annotations

from ...physical.basic import FilterExec, ProjectExec
from ...physical.plan import SparkPlan
from ...physical.scans import FileSourceScanExec
from ..model.expressions.core import Expression
from ..model.expressions.predicates import conjunction_or_none, split_conjuncts
from ..model.plans.logical import Filter, Project
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import Relation
from .base import PlanLater

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
