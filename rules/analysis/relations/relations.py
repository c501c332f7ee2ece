"""Tables: what a name of FROM stands for, and the names of WITH."""

from __future__ import annotations

from ....planner.model.catalog import Source, TempView
from ....planner.model.expressions.core import Alias, AttributeReference
from ....planner.model.formats import metadata_type
from ....planner.model.plans.logical import Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import (
    Relation,
    StreamingRelation,
    SubqueryAlias,
    UnresolvedRelation,
    View,
)
from ....planner.model.settings.conf import Conf
from ....planner.model.text.quoting import to_sql_id
from ....planner.model.tree import replace
from ..context import Context
from ..failures import failure

_ALWAYS_NULLABLE = "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled"


def resolve_relation(relation: UnresolvedRelation, context: Context) -> LogicalPlan:
    """`SubqueryAlias(View(StreamingRelation))`, or the relation itself if it is unknown.

    Raises:
        AnalysisError: STREAM over a static table.
    """
    name = relation.parts[-1]
    source = context.sources.get(context.fold(".".join(relation.parts)))
    if source is None:
        _refuse_deep_name(relation)
        return relation
    if isinstance(source, Source) and source.either:
        source = replace(source, streaming=relation.streaming, either=False)
    streaming = source.plan.is_streaming if isinstance(source, TempView) else source.streaming
    if relation.streaming and not streaming:
        raise failure(
            "_LEGACY_ERROR_TEMP_1008",
            hint=f"{name} is a static table: leave STREAM out.",
            quoted=name,
        )
    alias = context.fold(source.name)
    plan = source.plan if isinstance(source, TempView) else _source(source, context)
    return SubqueryAlias(alias=alias, child=View(name=alias, child=plan))


def _refuse_deep_name(relation: UnresolvedRelation) -> None:
    parts = relation.parts
    namespace = parts[:-1] if parts[0].lower() != "spark_catalog" else parts[1:-1]
    if len(namespace) > 1:
        raise failure(
            "REQUIRES_SINGLE_PART_NAMESPACE",
            subject=parts,
            sessionCatalog="spark_catalog",
            identifier=to_sql_id(parts),
        )


def _source(source: Source, context: Context) -> LogicalPlan:
    if source.name not in context.streams:
        context.streams[source.name] = source_plan(source, context.conf)
    return context.streams[source.name]


def source_plan(source: Source, conf: Conf) -> LogicalPlan:
    """The source itself, with fresh column ids."""
    attributes = tuple(
        AttributeReference(name=f.name, type_=f.data_type, is_nullable=True)
        for f in source.schema.fields
    )
    if source.streaming:
        return StreamingRelation(
            name=source.name,
            format=source.plan_name,
            attributes=attributes,
            identifier=source.identifier,
            always_nullable=conf.flag(_ALWAYS_NULLABLE),
            metadata_type=None if source.identifier else metadata_type(source.format),
        )
    return Relation(
        name=source.name,
        format=source.format,
        attributes=attributes,
        size_in_bytes=source.size_in_bytes,
        identifier=source.identifier,
    )


def rename_columns(plan: SubqueryAlias) -> SubqueryAlias:
    """`AS t(a, b)` as a Project below the table's name.

    Raises:
        AnalysisError: more or fewer names than columns (ASSIGNMENT_ARITY_MISMATCH).
    """
    if not plan.columns:
        return plan
    output = plan.child.output
    if len(plan.columns) != len(output):
        raise failure(
            "ASSIGNMENT_ARITY_MISMATCH",
            origin=plan.origin,
            numTarget=len(output),
            numExpr=len(plan.columns),
        )
    renamed = tuple(Alias(child=a, name=n) for a, n in zip(output, plan.columns, strict=True))
    return replace(plan, child=Project(project_list=renamed, child=plan.child), columns=())
