"""Expressions as values that can be compared between two plans.

planner/model/expressions/equality.py says when two expressions of one plan are the same: its
columns are ids. Two plans have no id in common, so a column here is what it is computed from, down
to the columns of the sources. Names, ids, nullability and the spelling of equal functions are left
out.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
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
from ..model.expressions.predicates import split, split_conjuncts
from ..model.expressions.python_functions import PythonUDF
from ..model.registry import find
from ..model.schemas.types import (
    ArrayType,
    DataType,
    DecimalType,
    IntegralType,
    MapType,
    StructType,
)
from ..model.tree import TreeNode
from .python_code import code_of
from .stored import shape
from .zones import call_reads_clock, cast_reads_clock

Symbol = tuple[Hashable, ...]
"""Nested tuples; the first item names what it is."""
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
            return _window_start(expression, columns) or _call(expression, columns)
        case CaseWhen(conditions=(condition,), values=(value,)):
            other = expression.otherwise or Literal(value=None, type_=expression.data_type)
            chosen = tuple(symbol(part, columns) for part in (condition, value, other))
            return ("call", "if", None, (), chosen)
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
    return frozenset(symbol(part, columns) for part in split_conjuncts(condition))


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


def aggregate(expression: AggregateExpression, columns: Columns) -> Symbol:
    """An aggregate function over its rows, whatever the step of its computation."""
    function = symbol(expression.function, columns)
    rows = conjuncts(expression.filter, columns)
    match function:
        case ("call", "count", zone, options, (counted,)):
            condition = _counted_if(counted)  # type: ignore[arg-type]
            if condition is not None:
                function = ("call", "count", zone, options, ())
                rows |= frozenset(_all_of(condition))
        case ("call", str(name), zone, options, (("call", "if", _, _, parts), *others)) if (
            _skips_nulls(name) and all(_is_literal(other) for other in others)
        ):
            match parts:
                case (tuple(within), value, ("literal", _, "None")):
                    # `sum(IF(c, x, NULL))` is `sum(x) FILTER (WHERE c)`.
                    function = ("call", name, zone, options, (value, *others))
                    rows |= frozenset(_all_of(within))
    return ("aggregate", function, expression.distinct, rows)


def _is_literal(value: Hashable) -> bool:
    return isinstance(value, tuple) and value[0] == "literal"


def _skips_nulls(name: str) -> bool:
    """Whether rows in which the first argument is null count for nothing, whatever the options."""
    spec = find(name)
    return spec is not None and spec.kind == "aggregate" and not spec.null_treatment


def _counted_if(counted: Symbol) -> Symbol | None:
    """The condition `c` of `count(IF(c, 1, NULL))`, and of what `count_if(c)` is planned as."""
    match counted:
        case ("call", "if", _, _, (condition, ("literal", _, value), ("literal", _, "None"))):
            return condition if value != "None" else None  # type: ignore[return-value]
        case ("call", "if", _, _, (("call", "not", _, _, (no,)), ("literal", _, "None"), yes)):
            return yes if yes == no else None  # type: ignore[return-value]
    return None


def _all_of(condition: Symbol) -> tuple[Symbol, ...]:
    match condition:
        case ("call", "and", _, _, tuple(parts)):
            return parts
    return (condition,)


def parts_of(value: Hashable) -> Iterator[Symbol]:
    """A symbol and all symbols in it."""
    if isinstance(value, tuple):
        yield value
        for part in value:
            yield from parts_of(part)
    elif isinstance(value, frozenset):
        for part in value:
            yield from parts_of(part)


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


def order_key(value: Hashable) -> str:
    """A text to sort by, the same in every process: a set's own order is not."""
    match value:
        case tuple():
            return f"({','.join(map(order_key, value))})"
        case frozenset():
            return f"{{{','.join(sorted(map(order_key, value)))}}}"
        case _:
            return repr(value)


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
            return ("column", f"{name}.{field.field.name.lower()}", kind(field.data_type))
        case _:
            return ("field", field.ordinal, parent)


def _call(call: Call, columns: Columns) -> Symbol:
    spec = call.spec
    name, arguments = operands(call)
    if spec.associative:
        arguments = tuple(part for a in arguments for part in split(a, name))
    parts = [symbol(argument, columns) for argument in arguments]
    compared = one_of(parts) if name == "or" else None
    if name == "inset" or compared is not None:
        name, parts = "in", list(compared or parts)
    if spec.commutative and name != "in":
        parts.sort(key=order_key)
    elif name == "in":
        parts[1:] = sorted(parts[1:], key=order_key)
    elif name == "named_struct":  # its names are not its meaning
        parts[::2] = [("name",)] * len(parts[::2])
    elif name == "count" and all(isinstance(a, Literal) and a.value is not None for a in arguments):
        parts = []
    zone = call.time_zone if call_reads_clock(call) else None
    given = call.options[1:] if name == "makedecimal" else call.options  # but for its precision
    options = tuple(repr(option) for option in given)
    if spec.by_width:
        stored = (a for i, a in enumerate(call.arguments) if i not in spec.used_at_the_end)
        options += tuple(repr(shape(a.data_type.json)) for a in stored)
    return ("call", name, zone, options, tuple(parts))


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
            return ("window start", symbol(time, columns), slide, offset.value)
    return None


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


def one_of(parts: Sequence[Symbol]) -> tuple[Symbol, ...] | None:
    """What `x = 1 OR x = 2` compares: x, then the constants; None if it is something else."""
    values: list[Symbol] = []
    subject: Symbol | None = None
    for part in parts:
        if part[:2] != ("call", "=") or len(part) != 5:
            return None
        sides: tuple[Symbol, Symbol] = part[4]  # type: ignore[assignment]
        constants = [side for side in sides if side[0] == "literal"]
        others = [side for side in sides if side[0] != "literal"]
        if len(constants) != 1 or subject not in (None, others[0]):
            return None
        subject = others[0]
        values.append(constants[0])
    return None if subject is None else (subject, *values)


def without_implied(filters: frozenset[Symbol]) -> frozenset[Symbol]:
    """Filters without the null checks that others imply: `v > 1` leaves no null."""
    implied = {part for condition in filters for part in _never_null(condition)}
    return frozenset(
        f
        for f in filters
        if not (f[:2] == ("call", "isnotnull") and f[4][0] in implied)  # type: ignore[index]
    )


def _never_null(condition: Symbol) -> Iterator[Hashable]:
    """What is not null in rows that a comparison lets through."""
    match condition:
        case ("call", "in", _, _, (one, *_)):
            yield from _needed(one)
        case ("call", str(name), _, _, tuple(sides)):
            spec = find(name)
            if spec is not None and spec.mirror is not None and spec.null_intolerant:
                for side in sides:
                    yield from _needed(side)


def _needed(value: Hashable) -> Iterator[Hashable]:
    """A value and the parts that make it null where they are null."""
    yield value
    match value:
        case ("call", str(name), _, _, tuple(parts)):
            spec = find(name)
            if spec is not None and spec.null_intolerant:
                for part in parts:
                    yield from _needed(part)
        case ("cast", _, _, _, inner):
            yield from _needed(inner)
