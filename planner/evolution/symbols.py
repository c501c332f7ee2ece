"""Expressions as values that can be compared between two plans.

planner/model/expressions/equality.py says when two expressions of one plan are the same: its
columns are ids. Two plans have no id in common, so a column here is what it is computed from, down
to the columns of the sources. Names, ids, nullability and the spelling of equal functions are left
out.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from dataclasses import fields
from functools import singledispatch

from ..model.expressions.core import (
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
)
from ..model.expressions.equality import operands
from ..model.expressions.predicates import split
from ..model.expressions.python_functions import PythonUDF
from ..model.expressions.windows import PreciseTimestampConversion
from ..model.functions.time_values import UNIT_MICROS
from ..model.schemas.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    IntegralType,
    MapType,
    StructType,
    TimestampType,
)
from ..model.tree import TreeNode
from .aggregates import aggregate_of
from .python_code import code_of
from .spelling import ONE, ZERO, Symbol, call_of, chosen, conditions_in, order_key
from .stored import shape
from .zones import call_reads_clock, cast_reads_clock

_WITHOUT_SHIFTS = ("UTC", "Etc/UTC", "GMT", "Z")
Columns = Mapping[int, Symbol]
"""What each column is, by its expression id."""


def symbol(expression: Expression, columns: Columns) -> Symbol:
    """What an expression means, given what the columns mean that it names."""
    match expression:
        case AttributeReference(expr_id=expr_id, name=name):
            return columns.get(expr_id, ("unknown column", name))
        case Alias(child=child):
            return symbol(child, columns)
        case Literal():
            return ("literal", kind(expression.type_), repr(expression.value))
        case Cast():
            return _cast(expression, columns)
        case GetStructField():
            return _field(expression, symbol(expression.child, columns))
        case AggregateExpression():
            return aggregate(expression, columns)
        case PythonUDF():
            parts = tuple(symbol(a, columns) for a in expression.arguments)
            return ("python", code_of(expression), expression.names, kind(expression.type_), *parts)
        case Call(arguments=(child,), spec=spec) if (
            spec.tagging or spec.name == "normalizenanandzero"
        ):
            return symbol(child, columns)
        case Call(spec=spec) if spec.replacement is not None:
            return symbol(spec.replacement(expression), columns)
        case Call():
            return (
                _window_start(expression, columns)
                or _truncated(expression, columns)
                or _call(expression, columns)
            )
        case PreciseTimestampConversion():
            return _converted(expression, columns)
        case CaseWhen(conditions=conditions, values=values):
            other = expression.otherwise or Literal(value=None, type_=expression.data_type)
            result = symbol(other, columns)
            for condition, value in zip(reversed(conditions), reversed(values), strict=True):
                result = chosen(symbol(condition, columns), symbol(value, columns), result)
            return result
        case LambdaVariable(expr_id=expr_id, name=name):
            return columns.get(expr_id, ("variable", name))
        case LambdaFunction():
            return _lambda(expression, columns)
        case _:
            return symbol_of_other(expression, columns)


def conjuncts(condition: Expression | None, columns: Columns) -> frozenset[Symbol]:
    """The parts of a condition, in no order."""
    if condition is None:
        return frozenset()
    return frozenset(conditions_in(symbol(condition, columns)))


def kind(data_type: DataType) -> Hashable:
    """A type as far as values depend on it: a wider integer holds the same number."""
    match data_type:
        case IntegralType():
            return "integer"
        case DecimalType(scale=scale):
            return ("decimal", scale)
        case StructType(fields=parts):
            return ("struct", *((f.name, kind(f.data_type)) for f in parts))
        case ArrayType(element_type=element):
            return ("array", kind(element))
        case MapType(key_type=key, value_type=value):
            return ("map", kind(key), kind(value))
        case _:
            return data_type.simple


def aggregate(
    expression: AggregateExpression,
    columns: Columns,
    filters: frozenset[Symbol] = frozenset(),
    *,
    grouped: bool = False,
) -> Symbol:
    """An aggregate function over its rows, whatever the step of its computation.

    `filters` is what all rows pass; `grouped` says whether no group is without a row.
    """
    return aggregate_of(
        symbol(expression.function, columns),
        conjuncts(expression.filter, columns),
        distinct=expression.distinct,
        filters=filters,
        grouped=grouped,
    )


def made_of(value: Hashable, known: frozenset[Symbol]) -> bool:
    """Whether a symbol names columns only within some symbols that are known."""
    if isinstance(value, tuple):
        if value in known:
            return True
        if value and value[0] in ("column", "unknown column", "python", "random"):
            return False
        return all(made_of(part, known) for part in value)
    if isinstance(value, frozenset):
        return all(made_of(part, known) for part in value)
    return True


def in_order(symbols: frozenset[Symbol]) -> tuple[Symbol, ...]:
    """The same order in every process."""
    return tuple(sorted(symbols, key=order_key))


def _cast(cast: Cast, columns: Columns) -> Symbol:
    inner = symbol(cast.child, columns)
    source, target = cast.child.data_type, cast.type_
    if kind(source) == kind(target) and _keeps_value(cast, source, target):
        return inner
    zone = cast.time_zone if cast_reads_clock(cast) else None
    return ("cast", kind(target), cast.mode == "TRY", zone, inner)


def _keeps_value(cast: Cast, source: DataType, target: DataType) -> bool:
    """Where a cast to a like type gives the same value, or an error in its place."""
    return cast.mode == "ANSI" or source == target or _wider(source, target)


def _wider(source: DataType, target: DataType) -> bool:
    if isinstance(source, IntegralType) and isinstance(target, IntegralType):
        return source.bits <= target.bits
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        return source.precision <= target.precision
    return False


def _field(field: GetStructField, parent: Symbol) -> Symbol:
    """Of a struct that is read: a column of its own, whatever else the struct holds."""
    match parent:
        case ("call", "named_struct", _, _, tuple(parts)):
            part: Symbol = parts[2 * field.ordinal + 1]
            return part
        case ("column", str(name), ("struct", *_)):
            return ("column", f"{name}.{field.field.name}", kind(field.data_type))
        case _:
            return ("field", field.ordinal, parent)


def _call(call: Call, columns: Columns) -> Symbol:
    spec = call.spec
    name, arguments = operands(call)
    if spec.associative:
        arguments = tuple(part for a in arguments for part in split(a, name))
    if spec.in_doubles:
        arguments = tuple(map(_before_double, arguments))
    parts = [symbol(argument, columns) for argument in arguments]
    for place in spec.any_case:
        parts[place] = _in_capitals(parts[place])
    if spec.weight is not None and parts[spec.weight :] == [ONE]:
        parts.pop()
    if name == "named_struct":  # its names are not its meaning
        parts[::2] = [("name",)] * len(parts[::2])
    elif name == "count" and all(isinstance(a, Literal) and a.value is not None for a in arguments):
        parts = []
    zone = call.time_zone if call_reads_clock(call) else None
    options = tuple(repr(option) for option in _options(call))
    if spec.by_width:
        skipped = (*spec.used_at_the_end, spec.weight)
        stored = (a for i, a in enumerate(call.arguments) if i not in skipped)
        options += tuple(repr(shape(a.data_type.json)) for a in stored)
    return call_of(name, zone, options, parts)


def _options(call: Call) -> tuple[object, ...]:
    """The options that say something of the value."""
    spec = call.spec
    if spec.of_null is not None:
        value = spec.of_null(call)
        return () if value is None else (value,)
    if spec.name == "makedecimal":  # but for its precision
        return call.options[1:]
    if spec.name == "named_struct" and not any(call.options[1:]):  # but for how it was written
        return ()
    return call.options


def _before_double(value: Expression) -> Expression:
    """What a whole number was before it was made a double."""
    match value:
        case Cast(child=child, type_=DoubleType()) if isinstance(child.data_type, IntegralType):
            return child
        case _:
            return value


def _in_capitals(text: Symbol) -> Symbol:
    match text:
        case ("literal", kind_, str(value)):
            return ("literal", kind_, value.upper())
        case _:
            return text


def _window_start(call: Call, columns: Columns) -> Symbol | None:
    """What `window` computes from a time, which its formula names several times."""
    match call.arguments:
        case (
            time,
            CaseWhen(
                values=(Call(arguments=(_, Literal(value=slide))),),
                otherwise=Call(name="%", arguments=(Call(arguments=(again, offset)), _)),
            ),
        ) if call.name == "-" and time == again and isinstance(offset, Literal):
            # Windows that start a whole number of slides later are the same ones.
            start = offset.value % slide  # type: ignore[operator]
            return ("window start", symbol(time, columns), slide, start)
    return None


def _truncated(call: Call, columns: Columns) -> Symbol | None:
    """`date_trunc('MINUTE', t)` as the start of the window of a minute that the time is in.

    So it is where each unit of the clock is as long as the window, as it is in UTC.
    """
    if call.name != "date_trunc" or call.time_zone not in _WITHOUT_SHIFTS:
        return None
    match call.arguments:
        case (Literal(value=str(unit)), time) if isinstance(time.data_type, TimestampType):
            micros = UNIT_MICROS.get(unit.upper())
            if micros is None:
                return None
            instant, number = kind(time.data_type), "integer"
            since_epoch = ("PreciseTimestampConversion", symbol(time, columns), instant, number)
            start = ("call", "-", None, (), (("window start", since_epoch, micros, 0), ZERO))
            return ("PreciseTimestampConversion", start, number, instant)
        case _:
            return None


def _converted(conversion: PreciseTimestampConversion, columns: Columns) -> Symbol:
    """A time as its microseconds or the other way round; there and back it is what it was."""
    converted = symbol_of_other(conversion, columns)
    match converted:
        case (name, (inner_name, tuple(inner), source, between), again, target) if (
            name == inner_name and between == again and source == target
        ):
            return inner
        case _:
            return converted


def _lambda(function: LambdaFunction, columns: Columns) -> Symbol:
    depth = sum(isinstance(node, LambdaFunction) for node in function.body.walk())
    own: dict[int, Symbol] = {
        parameter.expr_id: ("parameter", depth, position)
        for position, parameter in enumerate(function.parameters)
        if isinstance(parameter, LambdaVariable)
    }
    return ("lambda", len(function.parameters), symbol(function.body, {**columns, **own}))


@singledispatch
def symbol_of_other(expression: Expression, columns: Columns) -> Symbol:
    """Any other expression by the fields that take part in its equality; by class."""
    return own_fields(expression, columns, ("expr_id", "result_id"))


def own_fields(node: TreeNode, columns: Columns, skipped: Container[str]) -> Symbol:
    """A node's class, and its fields that take part in equality, but for those skipped."""
    compared = (f.name for f in fields(node) if f.compare and f.name not in skipped)
    return (type(node).__name__, *(_value(getattr(node, name), columns) for name in compared))


def _value(value: object, columns: Columns) -> Hashable:
    match value:
        case Expression():
            return symbol(value, columns)
        case tuple():
            return tuple(_value(item, columns) for item in value)
        case DataType():
            return kind(value)
        case None | bool() | int() | str() | float():
            return value
        case _:
            return repr(value)
