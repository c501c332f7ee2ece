"""VALUES: rows of constants, each column in one type."""

from __future__ import annotations

from ....planner.model.expressions.core import AttributeReference, Expression, Literal
from ....planner.model.expressions.evaluation import evaluate
from ....planner.model.functions.coercion import common_type
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import LocalRelation, UnresolvedInlineTable
from ....planner.model.schemas.types import DataType
from ....planner.model.text.quoting import to_sql_expr, to_sql_id
from ..context import Context
from ..expressions.expressions import Resolver
from ..failures import failure


def resolve_inline_table(table: UnresolvedInlineTable, context: Context) -> LogicalPlan:
    """The rows computed; the table as it is while an expression cannot be resolved.

    Raises:
        AnalysisError: rows of different lengths, expressions that are no constants, types that do
            not meet.
    """
    _check_lengths(table)
    resolver = Resolver(context.scope(()), context)
    rows = tuple(tuple(resolver.resolve(e) for e in row) for row in table.rows)
    for row in rows:
        for expression in row:
            if not expression.resolved or not expression.foldable:
                raise _no_constant(expression)
    columns = [[row[i] for row in rows] for i in range(len(table.names))]
    kinds = [
        _kind(column, name, table, context)
        for column, name in zip(columns, table.names, strict=True)
    ]
    values: list[tuple[Literal, ...]] = []
    for row in rows:
        literals = [_value(e, kind, context) for e, kind in zip(row, kinds, strict=True)]
        known = tuple(value for value in literals if value is not None)
        if len(known) < len(literals):
            return table
        values.append(known)
    attributes = tuple(
        AttributeReference(name=name, type_=kind, is_nullable=any(e.nullable for e in column))
        for name, kind, column in zip(table.names, kinds, columns, strict=True)
    )
    return LocalRelation(attributes=attributes, rows=tuple(values))


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


def _no_constant(expression: Expression) -> Exception:
    return failure(
        "INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE",
        origin=expression.origin,
        expr=to_sql_expr(expression),
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


def _value(expression: Expression, kind: DataType, context: Context) -> Literal | None:
    if expression.data_type != kind:
        expression = context.cast(expression, kind)
    return evaluate(expression)
