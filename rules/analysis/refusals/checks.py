"""What an analyzed plan must be: the last walk of analysis, children before parents.

The first thing wrong is told with the plan as far as it was analyzed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Cast,
    Expression,
)
from ....planner.model.expressions.subqueries import SubqueryExpression
from ....planner.model.expressions.unresolved import UnresolvedAttribute, UnresolvedStar
from ....planner.model.plans.logical import (
    Aggregate,
    Deduplicate,
    Distinct,
    EventTimeWatermark,
    Filter,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    Union,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import UnresolvedRelation
from ....planner.model.plans.set_operations import SetOperation
from ....planner.model.schemas.types import (
    TIMESTAMP,
    BooleanType,
    IntegerType,
    MapType,
    StructType,
    TimestampType,
    contains_type,
    is_collated,
    same_shape,
)
from ....planner.model.settings.conf import Conf
from ....planner.model.text.logical_text import tree_text
from ....planner.model.text.text import pretty
from ..failures import SEARCH_PATH, failure, mismatch, quoted
from ..names.suggestions import unresolved_column
from ..subqueries.correlation import misplaced_outer_references
from ..subqueries.subqueries import misplaced_subqueries, scalar_columns, streaming_subqueries
from ..windows.over import check_windows
from ..windows.window_functions import is_window
from .aggregates import aggregate_shape
from .misplaced import (
    misplaced_aggregates,
    misplaced_in_operator,
    misplaced_star,
    random_in_operator,
    sort_types,
)
from .missing_input import missing_columns
from .trailing_comma import trailing_comma

Check = Callable[[LogicalPlan], AnalysisError | None]


def _ordinal(place: int) -> str:
    """The word for a place, counted from 0."""
    return ("first", "second", "third")[place] if place < 3 else f"{place + 1}th"


def check_analysis(plan: LogicalPlan, conf: Conf) -> None:
    """Refuse what Spark's CheckAnalysis refuses, in its order and words.

    Raises:
        AnalysisError: with the plan's tree.
    """
    error = trailing_comma(plan) or _first_error(plan)
    if error is not None:
        limit = conf.integer("spark.sql.debug.maxToStringFields")
        whole = copy(error)
        whole.tree = tree_text(plan, limit)
        raise whole
    if not plan.resolved:
        raise _unfinished(plan)


def _first_error(plan: LogicalPlan) -> AnalysisError | None:
    for operator in bottom_up(plan):
        for check in CHECKS:
            error = check(operator)
            if error is not None:
                return error
    return None


def _unfinished(plan: LogicalPlan) -> AnalysisError:
    """Something that no check names: better told than planned."""
    operator = next(p for p in bottom_up(plan) if not p.resolved)
    left = next((pretty(e) for e in operator.expressions if not e.resolved), "")
    return AnalysisError(
        "STATEPLAN_UNRESOLVED",
        f"{type(operator).__name__} cannot be resolved: {left or 'its inputs do not fit'}.",
        hint="This use is not supported here; try it in a subquery of its own.",
        tree=tree_text(plan),
    )


def bottom_up(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """All operators, children before parents, left to right."""
    for child in plan.children:
        yield from bottom_up(child)
    yield plan


def expressions_up(expression: Expression) -> Iterator[Expression]:
    """All nodes of an expression, children before parents."""
    for child in expression.children:
        yield from expressions_up(child)
    yield expression


def unknown_table(plan: LogicalPlan) -> AnalysisError | None:
    """TABLE_OR_VIEW_NOT_FOUND."""
    if not isinstance(plan, UnresolvedRelation):
        return None
    return failure(
        "TABLE_OR_VIEW_NOT_FOUND",
        f"The table or view {quoted(plan.parts)} cannot be found. Verify the spelling and"
        f" correctness of the schema and catalog.\nSearch path: {SEARCH_PATH}.\nIf you did not"
        " qualify the name with a schema, verify the current_schema() output, or qualify the name"
        " with the correct schema and catalog.\nTo tolerate the error on drop use DROP VIEW IF"
        " EXISTS or DROP TABLE IF EXISTS.",
        state="42P01",
        origin=plan.origin,
        hint="Name one of the query's sources.",
        subject=plan.parts,
    )


def unresolved_expressions(plan: LogicalPlan) -> AnalysisError | None:
    """A wrong argument, or a name that no column has, whichever comes first."""
    expressions = plan.expressions
    if isinstance(plan, Aggregate):
        # GROUP BY may refer to the select list: that is told first.
        expressions = (*plan.aggregates, *plan.grouping)
    for expression in expressions:
        if expression.resolved and not expression.holds(SubqueryExpression):
            continue
        for node in expressions_up(expression):
            error = getattr(node, "error", None)
            if isinstance(error, AnalysisError):
                return error
            if isinstance(node, SubqueryExpression):
                error = (
                    _first_error(node.plan)
                    or scalar_columns(node)
                    or misplaced_outer_references(node)
                )
                if error is not None:
                    return error
            if isinstance(node, UnresolvedStar):
                return misplaced_star(node, expression, plan)
            if isinstance(node, UnresolvedAttribute):
                columns = [a for child in plan.children for a in child.output]
                return unresolved_column(node.parts, columns, node.origin or plan.origin)
    return None


def collated_operands(plan: LogicalPlan) -> AnalysisError | None:
    """What computes with a collated string: by its bytes the result would be another than Spark's.

    A column may be handed on, renamed or not.
    """
    for expression in plan.expressions:
        bare = expression.child if isinstance(expression, Alias) else expression
        if isinstance(bare, AttributeReference):
            continue
        for node in expressions_up(expression):
            if isinstance(node, AttributeReference | Cast) and is_collated(node.data_type):
                return AnalysisError(
                    "STATEPLAN_UNSUPPORTED_COLLATION",
                    f"{pretty(node)} has the type {node.data_type.sql}. stateplan hands on columns"
                    " with a collation, but does not compare them or compute with them.",
                    hint="Give the column the type STRING in the source's schema.",
                )
    return None


def watermark_type(plan: LogicalPlan) -> AnalysisError | None:
    """EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE."""
    if not isinstance(plan, EventTimeWatermark) or not plan.child.is_streaming:
        return None
    event_time = plan.event_time
    assert isinstance(event_time, AttributeReference)
    kind = event_time.type_
    if isinstance(kind, TimestampType):
        return None
    if isinstance(kind, StructType) and is_window(kind) and kind.fields[1].data_type == TIMESTAMP:
        return None
    return failure(
        "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
        f'The event time {quoted((event_time.name,))} has the invalid type "{kind.sql}", but'
        ' expected "TIMESTAMP".',
        state="42K09",
        origin=plan.origin,
        hint="Cast the column to TIMESTAMP first.",
        subject=(event_time.name,),
    )


def filter_type(plan: LogicalPlan) -> AnalysisError | None:
    """A WHERE or HAVING that is no boolean."""
    if not isinstance(plan, Filter) or not plan.condition.resolved:
        return None
    if isinstance(plan.condition.data_type, BooleanType):
        return None
    sql = pretty(plan.condition)
    kind = plan.condition.data_type.sql
    return mismatch(
        "FILTER_NOT_BOOLEAN",
        sql,
        f'Filter expression "{sql}" of type "{kind}" is not a boolean.',
        plan.origin,
    )


def join_condition(plan: LogicalPlan) -> AnalysisError | None:
    """An ON that is no boolean."""
    if not isinstance(plan, Join) or plan.condition is None or not plan.condition.resolved:
        return None
    kind = plan.condition.data_type
    if isinstance(kind, BooleanType):
        return None
    return failure(
        "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
        f'The join condition "{pretty(plan.condition)}" has the invalid type "{kind.sql}", expected'
        ' "BOOLEAN".',
        state="42K0E",
        origin=plan.origin,
    )


def limits(plan: LogicalPlan) -> AnalysisError | None:
    """LIMIT and OFFSET take a constant whole number, zero or more."""
    if isinstance(plan, GlobalLimit | LocalLimit):
        name, value = "limit", plan.limit
    elif isinstance(plan, Offset):
        name, value = "offset", plan.offset
    else:
        return None
    text = f'The limit like expression "{pretty(value)}" is invalid. The {name} expression must be'
    if not value.foldable:
        kind, rest = "IS_UNFOLDABLE", " foldable."
        text = text.replace("must be", "must evaluate to a constant value.")
        rest = ""
    elif not isinstance(value.data_type, IntegerType):
        kind, rest = "DATA_TYPE", f' integer type, but got "{value.data_type.sql}".'
    else:
        from ....planner.model.expressions.evaluation import evaluate

        number = evaluate(value)
        if number is None:
            return None
        if number.value is None:
            kind, rest = "IS_NULL", ""
            text = text.replace("must be", "must not be null.")
        elif isinstance(number.value, int) and number.value < 0:
            kind, rest = "IS_NEGATIVE", f" equal to or greater than 0, but got {number.value}."
        else:
            return None
    return failure(
        f"INVALID_LIMIT_LIKE_EXPRESSION.{kind}", text + rest, state="42K0E", origin=value.origin
    )


def union_columns(plan: LogicalPlan) -> AnalysisError | None:
    """Branches of a UNION with different numbers or types of columns."""
    if not isinstance(plan, Union | SetOperation):
        return None
    word = plan.word + " ALL" * plan.is_all if isinstance(plan, SetOperation) else "UNION"
    first = plan.children[0].output
    for number, branch in enumerate(plan.children[1:], 1):
        if len(branch.output) != len(first):
            return failure(
                "NUM_COLUMNS_MISMATCH",
                f"{word} can only be performed on inputs with the same number of columns, but the"
                f" first input has {len(first)} columns and the {_ordinal(number)} input has"
                f" {len(branch.output)} columns.",
                state="42826",
                origin=plan.origin,
            )
        for position, (one, other) in enumerate(zip(first, branch.output, strict=True)):
            if not same_shape(one.type_, other.type_):
                return failure(
                    "INCOMPATIBLE_COLUMN_TYPE",
                    f"{word} can only be performed on tables with compatible column types. The"
                    f" {_ordinal(position)} column of the {_ordinal(number)} table is"
                    f' "{other.type_.sql}" type which is not compatible with "{one.type_.sql}" at'
                    " the same column of the first table..",
                    state="42825",
                    origin=plan.origin,
                )
    return None


def distinct_maps(plan: LogicalPlan) -> AnalysisError | None:
    """DISTINCT compares rows, and maps cannot be compared."""
    if not isinstance(plan, Distinct | Deduplicate | SetOperation):
        return None
    if isinstance(plan, Deduplicate) and plan.within_watermark:
        return None  # Spark does not look at these
    columns = plan.keys if isinstance(plan, Deduplicate) else plan.output
    for column in columns:
        if isinstance(column, AttributeReference) and contains_type(column.type_, MapType):
            return failure(
                "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE",
                "The feature is not supported: Cannot have MAP type columns in a set operation"
                " (INTERSECT, EXCEPT, etc.), but the type of column"
                f' {quoted(column.name.split("."))} is "{column.type_.sql}".',
                state="0A000",
                origin=plan.origin,
            )
    return None


CHECKS: tuple[Check, ...] = (
    unknown_table,
    collated_operands,
    unresolved_expressions,
    streaming_subqueries,
    misplaced_subqueries,
    sort_types,
    check_windows,
    watermark_type,
    filter_type,
    join_condition,
    aggregate_shape,
    limits,
    union_columns,
    missing_columns,
    distinct_maps,
    misplaced_aggregates,
    misplaced_in_operator,
    random_in_operator,
)
