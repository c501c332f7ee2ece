"""When expressions and plans are the same.

`canonical`, `same` and `ExpressionSet`: the same value for every row, whatever the spelling, as
Spark's semanticEquals. `signature`: plans of the same rows, whatever the ids of their columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from ..memo import remembered
from ..tree import replace
from .core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Cast,
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
)
from .predicates import split
from .subqueries import SubqueryExpression

_IDS = ("expr_id", "result_id")
_WITHOUT_MEANING = ("codegen_stage", "plan_id")


class Canonical:
    """A hashable stand-in for an expression; equal for semantically equal expressions."""

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: tuple[object, ...]) -> None:
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Canonical) and self._hash == other._hash and self.parts == other.parts
        )


@remembered
def canonical(expression: Expression) -> Canonical:
    """The canonical form: names, origins and the order of commutative operands are left out."""
    return Canonical(_parts(expression))


def _parts(expression: Expression) -> tuple[object, ...]:
    match expression:
        case AttributeReference(expr_id=expr_id):
            return ("attribute", expr_id)
        case LambdaVariable(expr_id=expr_id):
            return ("variable", expr_id)
        case LambdaFunction():
            return _function_parts(expression)
        case Literal(value=value, type_=type_):
            return ("literal", type_, repr(value))
        case Alias(child=child):
            return canonical(child).parts
        case Cast(child=child, type_=type_, mode=mode, time_zone=zone):
            return ("cast", type_, mode, zone, canonical(child))
        case GetStructField(child=child, ordinal=ordinal):
            return ("field", ordinal, canonical(child))
        case AggregateExpression():
            chosen = None if expression.filter is None else canonical(expression.filter)
            return (
                "aggregate",
                canonical(expression.function),
                expression.mode,
                expression.distinct,
                chosen,
            )
        case Call(spec=spec) if spec.replacement is not None:
            return canonical(spec.replacement(expression)).parts
        case Call():
            return _call_parts(expression)
        case SubqueryExpression():
            return _subquery_parts(expression)
        case _:
            return _other_parts(expression)


def _subquery_parts(subquery: SubqueryExpression) -> tuple[object, ...]:
    """The plan but for its ids, and which columns of the query around it are mentioned."""
    ids: dict[int, int] = {}
    plan = signature(subquery.plan, ids)
    conditions = signature(subquery.conditions, ids)
    own = subquery.plan.output_ids
    mentioned = (a for c in subquery.conditions for a in c.collect(AttributeReference))
    outside = tuple(a.expr_id for a in mentioned if a.expr_id not in own)
    outer = tuple(map(canonical, subquery.outer))
    return ("subquery", type(subquery).__name__, plan, conditions, outside, outer)


def _function_parts(function: LambdaFunction) -> tuple[object, ...]:
    """The body with the parameters numbered: how they are called makes no difference."""
    depth = sum(isinstance(node, LambdaFunction) for node in function.body.walk())
    numbers = {
        parameter.expr_id: -(depth * 100 + position + 1)
        for position, parameter in enumerate(function.parameters)
        if isinstance(parameter, LambdaVariable)
    }

    def numbered(node: Expression) -> Expression:
        if isinstance(node, LambdaVariable) and node.expr_id in numbers:
            return replace(node, expr_id=numbers[node.expr_id])
        return node

    body = function.body.transform_up(numbered)
    return ("lambda", len(function.parameters), canonical(body))


def operands(call: Call) -> tuple[str, tuple[Expression, ...]]:
    """The one name of a function, and its arguments: of `a > b` it is `<` of b and a."""
    spec = call.spec
    if spec.mirror is not None and spec.mirror < spec.name:
        return spec.mirror, call.arguments[::-1]
    return spec.one_name, call.arguments


def _call_parts(call: Call) -> tuple[object, ...]:
    spec = call.spec
    name, arguments = operands(call)
    if spec.associative:
        keys = [canonical(part) for argument in arguments for part in split(argument, name)]
    else:
        keys = [canonical(argument) for argument in arguments]
    if spec.commutative:
        keys.sort(key=hash)
    elif name == "in":
        keys[1:] = sorted(keys[1:], key=hash)
    # Whether an error stops the query makes a difference to the value, but not for these.
    ansi = spec.ansi_free or call.ansi
    return ("call", name, ansi, call.options, *keys)


def _other_parts(expression: Expression) -> tuple[object, ...]:
    parts: list[object] = [type(expression).__name__]
    for field in fields(expression):
        value = getattr(expression, field.name)
        if not field.compare:
            continue
        if isinstance(value, Expression):
            parts.append(canonical(value))
        elif isinstance(value, tuple) and any(isinstance(item, Expression) for item in value):
            parts.append(tuple(canonical(item) for item in value))
        else:
            parts.append(value)
    return tuple(parts)


def same(left: Expression, right: Expression) -> bool:
    """Whether both are deterministic and give the same value for every row."""
    return left.deterministic and right.deterministic and canonical(left) == canonical(right)


def all_same(left: Sequence[Expression], right: Sequence[Expression]) -> bool:
    """Whether two lists hold expressions of the same form in the same order."""
    return list(map(canonical, left)) == list(map(canonical, right))


class ExpressionSet:
    """Semantically distinct expressions in the order in which they came (immutable).

    Expressions that are not deterministic differ from all others, themselves included.
    """

    __slots__ = ("_by_key", "_loose")

    def __init__(self, expressions: Iterable[Expression] = ()) -> None:
        self._by_key: dict[Canonical, Expression] = {}
        self._loose: list[Expression] = []
        self._add(expressions)

    def _add(self, expressions: Iterable[Expression]) -> None:
        if isinstance(expressions, ExpressionSet):
            for key, expression in expressions._by_key.items():
                self._by_key.setdefault(key, expression)
            self._loose.extend(expressions._loose)
            return
        for expression in expressions:
            if expression.deterministic:
                self._by_key.setdefault(canonical(expression), expression)
            else:
                self._loose.append(expression)

    def __iter__(self) -> Iterator[Expression]:
        yield from self._by_key.values()
        yield from self._loose

    def __len__(self) -> int:
        return len(self._by_key) + len(self._loose)

    def __contains__(self, expression: Expression) -> bool:
        return expression.deterministic and canonical(expression) in self._by_key

    def union(self, expressions: Iterable[Expression]) -> ExpressionSet:
        """These and the others, these first."""
        result = ExpressionSet(expressions if not len(self) else ())
        if len(self):
            result._by_key.update(self._by_key)
            result._loose.extend(self._loose)
            result._add(expressions)
        return result

    def without(self, expressions: Iterable[Expression]) -> ExpressionSet:
        """These but for the others."""
        others = expressions if isinstance(expressions, ExpressionSet) else None
        removed = ExpressionSet(expressions) if others is None else others
        if not len(removed):
            return self
        return ExpressionSet(e for e in self if e not in removed)


def signature(value: Any, ids: dict[int, int]) -> Hashable:
    """A plan or a part of it as nested tuples, ids numbered in the order of their appearance."""
    match value:
        case tuple():
            return tuple(signature(item, ids) for item in value)
        case AttributeReference(expr_id=expr_id, data_type=data_type):
            return "column", ids.setdefault(expr_id, len(ids)), data_type
        case Alias(expr_id=expr_id, child=child):
            return "alias", ids.setdefault(expr_id, len(ids)), signature(child, ids)
        case Literal():
            return value
        case Call(name="and" | "or" as name):
            # In one order, whatever the order written: by what the parts are but for their ids.
            parts = sorted(split(value, name), key=lambda part: repr(signature(part, {})))
            return name, *(signature(part, ids) for part in parts)
    if not is_dataclass(value):
        return type(value), value  # True is no 1
    with_id = isinstance(value, AggregateExpression | LambdaVariable)
    found: list[Hashable] = [type(value).__name__]
    for field in fields(value):
        if not field.compare or field.name in _WITHOUT_MEANING:
            continue
        part = getattr(value, field.name)
        if with_id and field.name in _IDS:
            part = ids.setdefault(part, len(ids))
        found.append(signature(part, ids))
    return tuple(found)
