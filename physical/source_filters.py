"""Conditions in the form in which Spark hands them to data sources (`GreaterThan(d,3.0)`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from ..planner.model.expressions.core import AttributeReference, Call, Expression, Literal
from ..planner.model.registry import lookup
from ..planner.model.schemas.types import DateType, TimestampType
from ..planner.model.text.literal_text import literal_text
from .subqueries import PlannedSubquery


def source_filters(conditions: Sequence[Expression]) -> list[str]:
    """The texts of the conditions that a data source understands, in their order."""
    texts = [_text(condition) for condition in conditions]
    return [text for text in texts if text is not None]


def _text(condition: Expression) -> str | None:
    match condition:
        case AttributeReference(name=name):
            return f"EqualTo({name},true)"
        case Literal(value=bool() as value):
            return "AlwaysTrue()" if value else "AlwaysFalse()"
        case Call(name="isnull" | "isnotnull", arguments=(AttributeReference(name=name),)):
            return f"{'IsNull' if condition.name == 'isnull' else 'IsNotNull'}({name})"
        case Call(name="and" | "or", arguments=(one, other)):
            left, right = _text(one), _text(other)
            if left is None or right is None:
                return None
            return f"{'And' if condition.name == 'and' else 'Or'}({left},{right})"
        case Call(name="not", arguments=(one,)):
            inner = _text(one)
            return None if inner is None else f"Not({inner})"
        case Call(name="in" | "inset", arguments=(AttributeReference(name=name), *values)):
            constants = [v for v in values if isinstance(v, Literal)]
            if len(constants) != len(values):
                return None
            return f"In({name}, [{','.join(sorted(map(_value, constants)))}])"
        case Call(
            arguments=(AttributeReference(name=name), Literal() | PlannedSubquery() as value)
        ):
            return _compared(condition.name, name, value, flipped=False)
        case Call(
            arguments=(Literal() | PlannedSubquery() as value, AttributeReference(name=name))
        ):
            return _compared(condition.name, name, value, flipped=True)
        case _:
            return None


def _compared(operator: str, name: str, value: Expression, *, flipped: bool) -> str | None:
    spec = lookup(operator)
    if flipped:
        if spec.mirror is None:
            return None
        spec = lookup(spec.mirror)
    return None if spec.source_filter is None else f"{spec.source_filter}({name},{_value(value)})"


def _value(value: Expression) -> str:
    """A constant as Java shows its value; a subquery's is not known yet."""
    if isinstance(value, PlannedSubquery):
        return f"ScalarSubquery#{value.expr_id}"
    assert isinstance(value, Literal)
    literal = value
    match literal.type_, literal.value:
        case DateType(), int(days):
            return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
        case TimestampType(), int(micros):
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
            fraction = f"{moment.microsecond:06d}".rstrip("0") or "0"
            return f"{moment:%Y-%m-%d %H:%M:%S}.{fraction}"
        case _:
            return literal_text(literal)
