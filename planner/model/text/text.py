"""Expressions as Spark writes them: in plans (`plan_text`) and in column names (`pretty`).

`plan_text` is Catalyst's `toString`: `user#3`, `n#0L` for a bigint, `ts#1-T10000ms` under a
watermark. `pretty` is Catalyst's `toPrettySQL`: generated column names and error messages.
What a function or operator looks like stands in its `FunctionSpec`; here is everything else.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import registry
from ..expressions.bound import Shown, Written
from ..expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
    SortOrder,
    lit,
)
from ..expressions.subqueries import (
    Exists,
    InSubquery,
    LateralSubquery,
    ListQuery,
    OuterReference,
    ScalarSubquery,
    SubqueryExpression,
)
from ..expressions.unresolved import (
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedExtractValue,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
    UnresolvedStar,
)
from ..expressions.windows import (
    PreciseTimestampConversion,
    SessionWindow,
    TimeWindow,
    Unit,
    WindowExpression,
    WindowFrame,
    WindowTime,
    frame_ends,
    opposite,
)
from ..schemas.types import ArrayType, DataType, LongType, MapType, StructType, quote_if_needed
from ..tree import replace
from .fields_shown import cut_arguments
from .literal_text import literal_pretty, literal_text
from .unresolved_text import is_built_by_parser, unresolved_text

Show = Callable[[Expression], str]


def type_suffix(data_type: DataType) -> str:
    """`L` for a bigint, as Spark marks column ids."""
    return "L" if isinstance(data_type, LongType) else ""


def delay_suffix(delay_ms: int | None) -> str:
    """`-T10000ms` for an event-time column."""
    return "" if delay_ms is None else f"-T{delay_ms}ms"


def plan_text(expression: Expression) -> str:
    """The form in plans: Catalyst's toString."""
    match expression:
        case AttributeReference():
            suffix = type_suffix(expression.type_) + delay_suffix(expression.delay_ms)
            return f"{expression.name}#{expression.expr_id}{suffix}"
        case Alias(child=child):
            suffix = type_suffix(child.data_type) if expression.resolved else ""
            delay = delay_suffix(expression.metadata.delay_ms) if expression.resolved else ""
            return f"{plan_text(child)} AS {expression.name}#{expression.expr_id}{suffix}{delay}"
        case Literal():
            return literal_text(expression)
        case Call():
            spec = expression.spec
            if spec.text is not None:
                return spec.text(expression, plan_text)
            return _call(expression.name, expression.arguments, plan_text)
        case AggregateExpression():
            return _aggregate(expression)
        case SortOrder(child=child):
            return f"{plan_text(child)} {direction(expression)}"
        case LambdaVariable():
            name = f"lambda {expression.name}#{expression.expr_id}"
            return name + type_suffix(expression.type_)
        case LambdaFunction(body=body, parameters=parameters):
            return _call("lambdafunction", (body, *parameters), plan_text)[:-1] + ", false)"
        case Cast(child=child, type_=data_type, mode=mode):
            function = "try_cast" if mode == "TRY" else "cast"
            return f"{function}({plan_text(child)} as {data_type.simple})"
        case PreciseTimestampConversion(child=child, from_type=from_type, to_type=to_type):
            parts = [plan_text(child), from_type.catalyst, to_type.catalyst]
            return f"precisetimestampconversion({cut_arguments(parts)})"
        case TimeWindow(time=time, size=size, slide=slide, start=start):
            return f"window({plan_text(time)}, {size}, {slide}, {start})"
        case WindowExpression():
            return _window_expression(expression)
        case OuterReference(column=column):
            return f"outer({plan_text(column)})"
        case InSubquery(values=values, query=query):
            return f"{plan_text(_tuple(values))} IN ({plan_text(query)})"
        case SubqueryExpression():
            children = " && ".join(map(plan_text, expression.children))
            return f"{_SUBQUERIES[type(expression)][0]}#{expression.expr_id} [{children}]"
        case _:
            return unresolved_text(expression, plan_text) or _shared(expression, plan_text)


def _call(name: str, arguments: tuple[Expression, ...], show: Show) -> str:
    texts = [show(argument) for argument in arguments]
    return f"{name}({cut_arguments(texts) if show is plan_text else ', '.join(texts)})"


def _with_distinct(text: str, word: str) -> str:
    return text.replace("(", f"({word} ", 1)


_MODE_PREFIX = {"Partial": "partial_", "PartialMerge": "merge_"}


def _aggregate(aggregate: AggregateExpression) -> str:
    text = plan_text(aggregate.function)
    if aggregate.distinct:
        text = _with_distinct(text, "distinct")
    text = _MODE_PREFIX.get(aggregate.mode, "") + text
    if aggregate.filter is not None:
        text += f" FILTER (WHERE {plan_text(aggregate.filter)})"
    return text


def direction(order: SortOrder) -> str:
    """`ASC NULLS FIRST`."""
    nulls = "NULLS FIRST" if order.nulls_first else "NULLS LAST"
    return f"{'ASC' if order.ascending else 'DESC'} {nulls}"


def _window_expression(window: WindowExpression) -> str:
    parts = [plan_text(e) for e in (*window.partition_by, *window.order_by)]
    parts.append(
        frame_in_plan(window) if window.frame or window.resolved else "unspecifiedframe$()"
    )
    return f"{plan_text(window.function)} windowspecdefinition({', '.join(parts)})"


def default_frame(window: WindowExpression) -> WindowExpression:
    """The window with its function's own frame, or what the order makes it."""
    function = window.function
    if (
        isinstance(function, Call)
        and function.spec.kind == "window"
        and function.name != "nth_value"
    ):
        if function.name in ("lag", "lead") and len(function.arguments) > 1:
            distance = function.arguments[1]
            if function.name == "lag":
                distance = opposite(distance)
            frame = WindowFrame(unit="ROWS", lower="DISTANCE", upper="DISTANCE")
            return replace(window, frame=frame, bounds=(distance, distance))
        unit: Unit = "RANGE" if function.name == "cume_dist" else "ROWS"
        return replace(window, frame=WindowFrame(unit=unit), bounds=())
    if window.order_by:
        return replace(window, frame=WindowFrame(unit="RANGE"), bounds=())
    whole = WindowFrame(unit="ROWS", upper="UNBOUNDED FOLLOWING")
    return replace(window, frame=whole, bounds=())


def frame_in_plan(window: WindowExpression) -> str:
    """A window's frame as plans write it: `specifiedwindowframe(RowFrame, a, b)`."""
    frame, bounds = _frame_of(window)
    shown = (
        "".join(end.lower().split()) + "$()" if isinstance(end, str) else plan_text(end)
        for end in frame_ends(frame, bounds)
    )
    kind = "RowFrame" if frame.unit == "ROWS" else "RangeFrame"
    return f"specifiedwindowframe({kind}, {', '.join(shown)})"


def frame_in_sql(window: WindowExpression, show: Show) -> str:
    """A window's frame as SQL says it: `ROWS BETWEEN 3 PRECEDING AND CURRENT ROW`."""
    frame, bounds = _frame_of(window)
    ends = (
        end if isinstance(end, str) else _bound_in_sql(end, show)
        for end in frame_ends(frame, bounds)
    )
    return f"{frame.unit} BETWEEN {' AND '.join(ends)}"


def _bound_in_sql(distance: Expression, show: Show) -> str:
    """`-a` -> `a PRECEDING`, any other -> `a FOLLOWING`."""
    match distance:
        case (
            UnresolvedFunction(name="-", arguments=(value,))
            | Call(name="negative", arguments=(value,))
        ):
            return f"{show(value)} PRECEDING"
    return f"{show(distance)} FOLLOWING"


def _frame_of(window: WindowExpression) -> tuple[WindowFrame, tuple[Expression, ...]]:
    if window.frame is None:
        window = default_frame(window)
    assert window.frame is not None
    return window.frame, window.bounds


def case_text(case: CaseWhen, show: Show) -> str:
    """`CASE WHEN a THEN b ELSE c END`."""
    branches = "".join(
        f" WHEN {show(condition)} THEN {show(value)}"
        for condition, value in zip(case.conditions, case.values, strict=True)
    )
    rest = "" if case.otherwise is None else f" ELSE {show(case.otherwise)}"
    return f"CASE{branches}{rest} END"


def _shared(expression: Expression, show: Show) -> str:
    """The expressions whose two forms differ only in those of their children."""
    match expression:
        case CaseWhen():
            return case_text(expression, show)
        case GetStructField(child=child, name=name):
            return f"{show(child)}.{name}"
        case UnresolvedExtractValue(child=child, extraction=extraction):
            return f"{show(child)}[{show(extraction)}]"
        case Written():
            return expression.text
        case OuterReference(column=column):
            return f"outer({'.'.join((*column.qualifier, column.name))})"
        case InSubquery(values=values, query=query):
            return f"({_written_tuple(values, show)} IN ({show(query)}))"
        case SessionWindow(time=time, gap=gap):
            return _call("sessionwindow", (time, gap), show)
        case WindowTime(window=window):
            return _call("window_time", (window,), show)
        case _:
            return _call(type(expression).__name__.lower(), expression.children, show)


def _written_tuple(values: tuple[Expression, ...], show: Callable[[Expression], str]) -> str:
    """What IN asks for; several values as a struct with the fields that Spark makes up for them."""
    if len(values) == 1:
        return show(values[0])
    parts = []
    for place, value in enumerate(values):
        name = show(value) if isinstance(value, Literal) else f"_{place}"
        if isinstance(value, AttributeReference | Alias):
            name = value.name
        parts.append(f"'{name}', {show(value)}")
    return f"named_struct({', '.join(parts)})"


_SUBQUERIES: dict[type[Expression], tuple[str, str]] = {
    ScalarSubquery: ("scalar-subquery", "scalarsubquery"),
    Exists: ("exists", "exists"),
    ListQuery: ("list", "listquery"),
    LateralSubquery: ("lateral-subquery", "lateralsubquery"),
}


def _tuple(values: tuple[Expression, ...]) -> Expression:
    """What stands before IN: one value, or several as a struct."""
    if len(values) == 1:
        return values[0]
    fields: list[Expression] = []
    for place, value in enumerate(values):
        name = f"_{place}"
        if isinstance(value, AttributeReference | Alias):
            name = value.name
        elif isinstance(value, UnresolvedAttribute):
            name = ".".join(value.parts)
        fields += [lit(name), value]
    return Call(name="named_struct", arguments=tuple(fields))


def plain_text(expression: Expression) -> str:
    """The form in plans over columns without ids and without implicit casts.

    Messages show so what SQL has no words for: `window(cast(a as int), ...)`.
    """

    def plain(node: Expression) -> Expression:
        if isinstance(node, AttributeReference):
            return Shown(shown=node.name, type_=node.type_)
        if isinstance(node, Cast) and node.implicit:
            return Shown(shown=pretty(node), type_=node.type_)
        return node

    return plan_text(expression.transform_down(plain))


def pretty(expression: Expression) -> str:
    """The form in generated column names and messages: Catalyst's toPrettySQL."""
    match expression:
        case AttributeReference(name=name):
            return name
        case UnresolvedAttribute(parts=parts) | UnresolvedLambdaVariable(parts=parts):
            return ".".join(quote_if_needed(part) for part in parts)
        case Alias(child=child, name=name):
            return f"{pretty(child)} AS {quote_if_needed(name)}"
        case Literal():
            return literal_pretty(expression)
        case Call():
            spec = expression.spec
            if spec.pretty is not None:
                return spec.pretty(expression, pretty)
            return _call(expression.name, expression.arguments, pretty)
        case AggregateExpression(function=function):
            text = pretty(function)
            if expression.distinct:
                text = _with_distinct(text, "DISTINCT")
            filter_text = expression.filter and f" FILTER (WHERE {pretty(expression.filter)})"
            return text + (filter_text or "")
        case Cast(child=child, type_=ArrayType() | MapType() | StructType()):
            return pretty(child)  # Spark's SQL text leaves such casts out
        case Cast(child=child, type_=data_type):
            if expression.implicit:
                return pretty(child)
            word = "TRY_CAST" if expression.mode == "TRY" else "CAST"
            return f"{word}({pretty(child)} AS {data_type.sql})"
        case SortOrder(child=child):
            return f"{pretty(child)} {direction(expression)}"
        case LambdaVariable():
            return "namedlambdavariable()"
        case LambdaFunction(body=body, parameters=parameters):
            return _call("lambdafunction", (body, *parameters), pretty)
        case PreciseTimestampConversion(child=child):
            return _call("precisetimestampconversion", (child,), pretty)
        case TimeWindow(time=time):
            return _call("window", (time,), pretty)
        case UnresolvedStar() | UnresolvedAlias():
            return unresolved_text(expression, plan_text) or ""
        case UnresolvedFunction(name=name, arguments=arguments):
            found = registry.find(name)
            if found is not None and found.pretty is not None and is_built_by_parser(expression):
                return found.pretty(Call(name=name, arguments=arguments), pretty)
            shown = _call(name, arguments, pretty)
            return _with_distinct(shown, "DISTINCT") if expression.distinct else shown
        case WindowExpression():
            return _window_pretty(expression)
        case SubqueryExpression():
            return _call(_SUBQUERIES[type(expression)][1], expression.children, pretty)
        case _:
            return _shared(expression, pretty)


def _window_pretty(window: WindowExpression) -> str:
    parts = []
    if window.partition_by:
        parts.append("PARTITION BY " + ", ".join(pretty(e) for e in window.partition_by))
    if window.order_by:
        parts.append("ORDER BY " + ", ".join(pretty(e) for e in window.order_by))
    parts.append(frame_in_sql(window, pretty))
    return f"{pretty(window.function)} OVER ({' '.join(parts)})"
