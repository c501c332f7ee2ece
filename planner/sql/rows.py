"""Fields of rows, parameters of lambdas, names in strings."""

from __future__ import annotations

from ..model.expressions.core import Alias, Expression, Literal
from ..model.expressions.unresolved import UnresolvedAttribute, UnresolvedLambdaVariable


def field_name(value: Expression, position: int) -> str:
    """The name of a row's field: the column's or alias's own, else by position."""
    if isinstance(value, UnresolvedAttribute):
        return value.parts[-1]
    return value.name if isinstance(value, Alias) else f"col{position}"


def unnamed(value: Expression) -> Expression:
    """What stands under an alias."""
    return value.child if isinstance(value, Alias) else value


def as_variable(node: Expression) -> Expression:
    """Inside a lambda any name may be a parameter."""
    if isinstance(node, UnresolvedAttribute):
        return UnresolvedLambdaVariable(parts=node.parts, origin=node.origin)
    return node


def identifier(values: tuple[Expression, ...]) -> tuple[str, ...] | None:
    """The parts of the name that `IDENTIFIER('a.b')` stands for."""
    match values:
        case (Literal(value=str(text)),):
            return tuple(part.strip("`") for part in text.split("."))
        case _:
            return None
