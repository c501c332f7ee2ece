"""Tables of FROM: by name, as rows of constants, as functions; their joins."""

from __future__ import annotations

from collections.abc import Sequence

from ....planner.model import registry
from ....planner.model.catalog import Source, TempView
from ....planner.model.expressions.core import Alias, AttributeReference, Call, Expression
from ....planner.model.expressions.evaluation import constant_of, evaluate
from ....planner.model.expressions.unresolved import UnresolvedFunction
from ....planner.model.formats import metadata_type
from ....planner.model.functions.coercion import common_type
from ....planner.model.plans.logical import Join, Project, Union
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import (
    LocalRelation,
    OneRowRelation,
    Range,
    Relation,
    StreamingRelation,
    SubqueryAlias,
    UnresolvedInlineTable,
    UnresolvedRelation,
    UnresolvedTableFunction,
    View,
)
from ....planner.model.schemas.types import LONG, DataType
from ....planner.model.settings.conf import Conf
from ....planner.model.text.quoting import to_sql_expr, to_sql_id
from ....planner.model.tree import replace
from ...common.fresh_ids import keep_apart
from ..context import Context
from ..expressions.expressions import Resolver
from ..failures import failure, wrong_argument_count
from ..names.hidden_columns import columns_hidden_by_using, cut_back, with_hidden_columns
from ..selects.selects import generate_node

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


def resolve_inline_table(table: UnresolvedInlineTable, context: Context) -> LogicalPlan:
    """The rows of the table, computed as far as they can be.

    Raises:
        AnalysisError: rows of different lengths, expressions that are no constants, types that do
            not meet.
    """
    _check_lengths(table)
    resolver = Resolver((), context)
    rows = tuple(tuple(resolver.resolve(e) for e in row) for row in table.rows)
    for row in rows:
        for expression in row:
            if not expression.resolved or not expression.foldable:
                raise failure(
                    "INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE",
                    origin=expression.origin,
                    expr=to_sql_expr(expression),
                )
    columns = [[row[i] for row in rows] for i in range(len(table.names))]
    kinds = [
        _kind(column, name, table, context)
        for column, name in zip(columns, table.names, strict=True)
    ]
    cast = [
        [
            e if e.data_type == kind else context.cast(e, kind)
            for e, kind in zip(row, kinds, strict=True)
        ]
        for row in rows
    ]
    values = [[evaluate(e) for e in row] for row in cast]
    if any(value is None for row in values for value in row):
        return _computed_rows(table.names, cast)
    attributes = tuple(
        AttributeReference(name=name, type_=kind, is_nullable=any(e.nullable for e in column))
        for name, kind, column in zip(table.names, kinds, columns, strict=True)
    )
    literals = tuple(tuple(v for v in row if v is not None) for row in values)
    return LocalRelation(attributes=attributes, rows=literals)


def _computed_rows(names: Sequence[str], rows: Sequence[Sequence[Expression]]) -> LogicalPlan:
    """Rows of which a value is not known before the query runs, such as the time of a batch."""
    projects = [
        Project(
            project_list=tuple(Alias(child=e, name=n) for e, n in zip(row, names, strict=True)),
            child=OneRowRelation(),
        )
        for row in rows
    ]
    return projects[0] if len(projects) == 1 else Union(inputs=tuple(projects))


def _check_lengths(table: UnresolvedInlineTable) -> None:
    for number, row in enumerate(table.rows):
        if len(row) != len(table.names):
            raise failure(
                "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
                origin=table.origin,
                expectedNumCols=len(table.names),
                actualNumCols=len(row),
                rowIndex=number,
            )


def _kind(
    column: list[Expression], name: str, table: UnresolvedInlineTable, context: Context
) -> DataType:
    kind = common_type([e.data_type for e in column], context.conf)
    if kind is None:
        raise failure(
            "INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE",
            origin=table.origin,
            colName=to_sql_id(name),
        )
    return kind


def resolve_table_function(function: UnresolvedTableFunction, context: Context) -> LogicalPlan:
    """The rows of the function; the function as it is while an argument cannot be resolved.

    Raises:
        AnalysisError: there is no such function, or its arguments are wrong.
    """
    name = function.name.lower()
    resolver = Resolver((), context)
    if name == "range":
        arguments = tuple(resolver.resolve(a) for a in function.arguments)
        return _range(function, arguments, context)
    spec = registry.find(name)
    if spec is not None and spec.kind != "generator":
        raise failure("NOT_A_TABLE_FUNCTION", origin=function.origin, functionName=to_sql_id(name))
    if spec is None:
        raise failure(
            "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
            origin=function.origin,
            name=to_sql_id(function.name.split(".")),
        )
    call = resolver.resolve(
        UnresolvedFunction(name=name, arguments=function.arguments, origin=function.origin)
    )
    if not call.resolved or not isinstance(call, Call):
        return function
    generate = generate_node(
        call, (), OneRowRelation(), outer=False, alias=None, origin=function.origin
    )
    return Project(project_list=generate.generated, child=generate)


def _range(
    function: UnresolvedTableFunction, arguments: tuple[Expression, ...], context: Context
) -> LogicalPlan:
    if not all(a.resolved for a in arguments):
        return function
    if not 1 <= len(arguments) <= 4:
        raise wrong_argument_count("range", "[1, 2, 3, 4]", len(arguments), function.origin)
    numbers: list[int] = []
    for argument in arguments:
        number = constant_of(context.cast(argument, LONG), int)
        if number is None:
            return function
        numbers.append(number)
    start, end = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    return Range(
        start=start,
        end=end,
        step=numbers[2] if len(numbers) > 2 else 1,
        slices=numbers[3] if len(numbers) > 3 else None,
        attributes=(AttributeReference(name="id", type_=LONG, is_nullable=False),),
    )


def resolve_join(plan: Join, context: Context) -> LogicalPlan:
    """The join with its condition resolved; USING and NATURAL become ON below a Project.

    Raises:
        AnalysisError: a column of USING that a side does not have.
    """
    if not (plan.left.resolved and plan.right.resolved):
        return plan
    plan = replace(plan, right=keep_apart(plan.left, plan.right))
    if plan.using or plan.natural:
        return _using(plan, context)
    if plan.condition is None:
        return plan
    return _on(plan, plan.condition, context)


def _on(plan: Join, condition: Expression, context: Context) -> LogicalPlan:
    """The join with its condition resolved, over its sides' hidden columns too."""
    left, context = with_hidden_columns((condition,), plan.left, context)
    right, context = with_hidden_columns((condition,), plan.right, context)
    resolver = Resolver((*left.output, *right.output), context)
    resolved = replace(plan, left=left, right=right, condition=resolver.resolve(condition))
    return cut_back(resolved, resolved.output_ids - plan.output_ids)


def _using(plan: Join, context: Context) -> LogicalPlan:
    left, right = plan.left.output, plan.right.output
    scope = context.scope(())
    names = plan.using
    if plan.natural:
        names = tuple(a.name for a in left if any(scope.same(a.name, b.name) for b in right))
    pairs = [
        (_key(name, plan.left, "left", context), _key(name, plan.right, "right", context))
        for name in names
    ]
    condition: Expression | None = None
    for one, other in pairs:
        equal = context.call("=", one, other, origin=plan.origin)
        condition = equal if condition is None else context.call("and", condition, equal)
    joined = replace(plan, using=(), natural=False, condition=condition)
    left_keys = {one.expr_id for one, _ in pairs}
    right_keys = {other.expr_id for _, other in pairs}
    rest_left = [a for a in left if a.expr_id not in left_keys]
    rest_right = [a for a in right if a.expr_id not in right_keys]
    given = {a.expr_id: a for a in joined.output}
    items: list[Expression]
    hidden: list[AttributeReference] = []
    match plan.join_type:
        case "LeftSemi" | "LeftAnti":
            items = [*(one for one, _ in pairs), *rest_left]
        case "RightOuter":
            items = [*(other for _, other in pairs), *rest_left, *rest_right]
            hidden = [one for one, _ in pairs]
        case "FullOuter":
            merged = [_merged(one, other, given, context) for one, other in pairs]
            items = [*merged, *rest_left, *rest_right]
            hidden = [*(one for one, _ in pairs), *(other for _, other in pairs)]
        case _:
            items = [*(one for one, _ in pairs), *rest_left, *rest_right]
            hidden = [other for _, other in pairs]
    items = [given.get(i.expr_id, i) if isinstance(i, AttributeReference) else i for i in items]
    found = (*(given[column.expr_id] for column in hidden), *columns_hidden_by_using(joined))
    return Project(project_list=tuple(items), child=joined, hidden=found)


def _merged(
    one: AttributeReference,
    other: AttributeReference,
    given: dict[int, AttributeReference],
    context: Context,
) -> Alias:
    value = context.call("coalesce", given[one.expr_id], given[other.expr_id])
    return Alias(child=value, name=one.name)


def _key(name: str, side: LogicalPlan, which: str, context: Context) -> AttributeReference:
    found = context.scope(side.output).named(name)
    if not found:
        columns = ", ".join(to_sql_id(a.name) for a in sorted(side.output, key=lambda a: a.name))
        raise failure(
            "UNRESOLVED_USING_COLUMN_FOR_JOIN",
            subject=(name,),
            colName=to_sql_id(name),
            side=which,
            suggestion=columns,
        )
    return found[0]
