"""ANSI mode is taken from the new session: values that it refuses then fail a batch."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.expressions.core import Call, Cast, Expression, Literal
from ..model.schemas.types import BooleanType, DateType, NumericType, StringType, TimestampType
from .report import Finding
from .side import Side

_ANSI = "spark.sql.ansi.enabled"
_BY_ZERO = ("DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO")


def ansi_turned_on(was: Side, now: Side) -> Iterator[Finding]:
    """What was null without ANSI mode is an error with it. The other way nothing is at stake."""
    if was.asked.flag(_ANSI) or not now.asked.flag(_ANSI):
        return
    nodes = list(now.plan.walk())
    for node in reversed(nodes):
        for expression in node.expressions:
            for part in expression.walk():
                condition = _raises(part)
                if condition is not None:
                    yield Finding(
                        verdict="refused",
                        what=_ANSI,
                        was="false",
                        now="true",
                        why="a value that cannot be computed was null, and now fails the batch",
                        action=f"set {_ANSI} to false, or use the try_ functions",
                        condition=condition,
                        phase="batch",
                    )
                    return


def _raises(part: Expression) -> str | None:
    """The condition of the error that an expression raises over ordinary bad data."""
    match part:
        case Cast(mode="ANSI", child=child, type_=target) if (
            isinstance(child.data_type, StringType)
            and isinstance(target, NumericType | BooleanType | DateType | TimestampType)
            and not child.foldable
        ):
            return "CAST_INVALID_INPUT"
        case Call(arguments=(_, divisor), ansi=True, spec=spec) if spec.ansi_error in _BY_ZERO:
            return None if isinstance(divisor, Literal) else "DIVIDE_BY_ZERO"
        case Call(name="element_at" | "getarrayitem", ansi=True):
            return "INVALID_ARRAY_INDEX_IN_ELEMENT_AT"
        case _:
            return None
