"""What an analyzed plan must be: the last walk of analysis, children before parents.

The first error is raised, with the plan as far as it was analyzed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    AttributeReference,
    Cast,
    without_alias,
)
from ....planner.model.expressions.subqueries import SubqueryExpression
from ....planner.model.expressions.unresolved import MultiAlias, UnresolvedAttribute, UnresolvedStar
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
    Sort,
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
from ....planner.model.text.quoting import (
    SEARCH_PATH,
    in_quotes,
    to_sql_expr,
    to_sql_id,
    to_sql_type,
)
from ....planner.model.text.text import pretty
from ...common.trees import walk_up
from ..failures import failure, mismatch
from ..names.names import unresolved_column
from ..selects.selects import not_several_columns
from ..subqueries.subqueries import (
    misplaced_outer_references,
    misplaced_subqueries,
    scalar_columns,
    streaming_subqueries,
)
from ..windows.over import check_windows
from ..windows.window_functions import is_window
from .misplaced import (
    aggregate_shape,
    misplaced_aggregates,
    misplaced_in_operator,
    misplaced_star,
    missing_columns,
    random_in_operator,
    sort_types,
    trailing_comma,
)

Check = Callable[[Any], AnalysisError | None]


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
    for operator in walk_up(plan):
        for kinds, check in CHECKS:
            error = check(operator) if isinstance(operator, kinds) else None
            if error is not None:
                return error
    return None


def _unfinished(plan: LogicalPlan) -> AnalysisError:
    """The error for what no check names."""
    operator = next(p for p in walk_up(plan) if not p.resolved)
    left = next((pretty(e) for e in operator.expressions if not e.resolved), "")
    return AnalysisError.of(
        "STATEPLAN_UNRESOLVED",
        tree=tree_text(plan),
        operator=type(operator).__name__,
        expressions=left or "its inputs do not fit",
    )


def unknown_table(plan: UnresolvedRelation) -> AnalysisError:
    """TABLE_OR_VIEW_NOT_FOUND."""
    return failure(
        "TABLE_OR_VIEW_NOT_FOUND",
        origin=plan.origin,
        subject=plan.parts,
        relationName=to_sql_id(plan.parts),
        searchPath=SEARCH_PATH,
    )


def unresolved_expressions(plan: LogicalPlan) -> AnalysisError | None:
    """A wrong argument, or a name that no column has, whichever comes first."""
    expressions = plan.expressions
    if isinstance(plan, Aggregate):
        # GROUP BY may refer to the select list: errors of that come first.
        expressions = (*plan.aggregates, *plan.grouping)
    for expression in expressions:
        if expression.resolved and not expression.holds(SubqueryExpression):
            continue
        for node in walk_up(expression):
            error = getattr(node, "error", None)
            if isinstance(error, AnalysisError):
                return error
            if isinstance(node, SubqueryExpression):
                error = _first_error(node.plan)
                if error is None and not node.plan.resolved:
                    error = _unfinished(node.plan)
                error = error or scalar_columns(node) or misplaced_outer_references(node)
                if error is not None:
                    return error
            if isinstance(node, UnresolvedStar):
                return misplaced_star(node, expression, plan)
            if isinstance(node, MultiAlias) and node.child.resolved:
                return not_several_columns(node)
            if isinstance(node, UnresolvedAttribute):
                columns = [a for child in plan.children for a in child.output]
                return unresolved_column(node.parts, columns, node.origin or plan.origin)
    return None


def collated_operands(plan: LogicalPlan) -> AnalysisError | None:
    """What computes with a collated string: by its bytes the result would be another than Spark's.

    A column may be handed on, renamed or not.
    """
    for expression in plan.expressions:
        bare = without_alias(expression)
        if isinstance(bare, AttributeReference):
            continue
        for node in walk_up(expression):
            if isinstance(node, AttributeReference | Cast) and is_collated(node.data_type):
                return AnalysisError.of(
                    "STATEPLAN_UNSUPPORTED_COLLATION",
                    expression=pretty(node),
                    type=node.data_type.sql,
                )
    return None


def watermark_type(plan: EventTimeWatermark) -> AnalysisError | None:
    """EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE."""
    if not plan.child.is_streaming:
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
        origin=plan.origin,
        subject=(event_time.name,),
        eventName=to_sql_id(event_time.name),
        eventType=to_sql_type(kind),
    )


def filter_type(plan: Filter) -> AnalysisError | None:
    """A WHERE or HAVING that is no boolean."""
    if not plan.condition.resolved or isinstance(plan.condition.data_type, BooleanType):
        return None
    sql = pretty(plan.condition)
    kind = plan.condition.data_type.sql
    return mismatch(
        "FILTER_NOT_BOOLEAN", sql, plan.origin, filter=in_quotes(sql), type=in_quotes(kind)
    )


def join_condition(plan: Join) -> AnalysisError | None:
    """An ON that is no boolean."""
    if plan.condition is None or not plan.condition.resolved:
        return None
    kind = plan.condition.data_type
    if isinstance(kind, BooleanType):
        return None
    return failure(
        "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
        origin=plan.origin,
        joinCondition=to_sql_expr(plan.condition),
        conditionType=to_sql_type(kind),
    )


def limits(plan: GlobalLimit | LocalLimit | Offset) -> AnalysisError | None:
    """LIMIT and OFFSET take a constant whole number, zero or more."""
    if isinstance(plan, Offset):
        name, value = "offset", plan.offset
    else:
        name, value = "limit", plan.limit
    case = ""
    parameters: dict[str, Any] = {}
    if not value.foldable:
        case = "IS_UNFOLDABLE"
    elif not isinstance(value.data_type, IntegerType):
        case, parameters = "DATA_TYPE", {"dataType": to_sql_type(value.data_type)}
    else:
        from ....planner.model.expressions.evaluation import evaluate

        number = evaluate(value)
        if number is not None and number.value is None:
            case = "IS_NULL"
        elif number is not None and isinstance(number.value, int) and number.value < 0:
            case, parameters = "IS_NEGATIVE", {"v": str(number.value)}
    if not case:
        return None
    return failure(
        f"INVALID_LIMIT_LIKE_EXPRESSION.{case}",
        origin=value.origin,
        expr=to_sql_expr(value),
        name=name,
        **parameters,
    )


def union_columns(plan: Union | SetOperation) -> AnalysisError | None:
    """Branches of a UNION with different numbers or types of columns."""
    word = plan.word + " ALL" * plan.is_all if isinstance(plan, SetOperation) else "UNION"
    first = plan.children[0].output
    for number, branch in enumerate(plan.children[1:], 1):
        if len(branch.output) != len(first):
            return failure(
                "NUM_COLUMNS_MISMATCH",
                origin=plan.origin,
                operator=word,
                firstNumColumns=len(first),
                invalidOrdinalNum=_ordinal(number),
                invalidNumColumns=len(branch.output),
            )
        for position, (one, other) in enumerate(zip(first, branch.output, strict=True)):
            if not same_shape(one.type_, other.type_):
                return failure(
                    "INCOMPATIBLE_COLUMN_TYPE",
                    origin=plan.origin,
                    operator=word,
                    columnOrdinalNumber=_ordinal(position),
                    tableOrdinalNumber=_ordinal(number),
                    dataType1=to_sql_type(other.type_),
                    dataType2=to_sql_type(one.type_),
                    hint_="",
                )
    return None


def distinct_maps(plan: Distinct | Deduplicate | SetOperation) -> AnalysisError | None:
    """DISTINCT compares rows, and maps cannot be compared."""
    if isinstance(plan, Deduplicate) and plan.within_watermark:
        return None  # Spark does not look at these
    columns = plan.keys if isinstance(plan, Deduplicate) else plan.output
    for column in columns:
        if isinstance(column, AttributeReference) and contains_type(column.type_, MapType):
            return failure(
                "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE",
                origin=plan.origin,
                colName=to_sql_id(column.name.split(".")),
                dataType=to_sql_type(column.type_),
            )
    return None


CHECKS: tuple[tuple[type | tuple[type, ...], Check], ...] = (
    (UnresolvedRelation, unknown_table),
    (LogicalPlan, collated_operands),
    (LogicalPlan, unresolved_expressions),
    (LogicalPlan, streaming_subqueries),
    (LogicalPlan, misplaced_subqueries),
    (Sort, sort_types),
    (LogicalPlan, check_windows),
    (EventTimeWatermark, watermark_type),
    (Filter, filter_type),
    (Join, join_condition),
    (Aggregate, aggregate_shape),
    ((GlobalLimit, LocalLimit, Offset), limits),
    ((Union, SetOperation), union_columns),
    (LogicalPlan, missing_columns),
    ((Distinct, Deduplicate, SetOperation), distinct_maps),
    (Filter, misplaced_aggregates),
    ((Sort, Join), misplaced_in_operator),
    (Join, random_in_operator),
)
"""What is asked of which operators, in Spark's order."""
