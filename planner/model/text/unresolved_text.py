"""How plans show what analysis has still to resolve."""

from __future__ import annotations

from collections.abc import Callable

from .. import registry
from ..expressions.core import Call, Expression
from ..expressions.unresolved import (
    NamedArgument,
    PipeExpression,
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
    UnresolvedOrdinal,
    UnresolvedPipeAggregateOrdinal,
    UnresolvedStar,
)
from ..schemas.types import quote_if_needed
from .fields_shown import cut_arguments

Show = Callable[[Expression], str]


def unresolved_text(expression: Expression, show: Show) -> str | None:
    """The form in plans, `show` being that of anything; None for what is no such expression."""
    match expression:
        case UnresolvedAttribute(parts=parts):
            return "'" + ".".join(quote_if_needed(part) for part in parts)
        case UnresolvedLambdaVariable(parts=parts):
            return "lambda '" + ".".join(parts)
        case UnresolvedStar(target=target):
            return ".".join((*target, "*"))
        case UnresolvedOrdinal(ordinal=ordinal):
            return f"unresolvedordinal({ordinal})"
        case NamedArgument(name=name, value=value):
            return f"{name} => {show(value)}"
        case UnresolvedPipeAggregateOrdinal(ordinal=ordinal):
            return f"unresolvedpipeaggregateordinal({ordinal})"
        case PipeExpression(child=child, clause=clause):
            aggregates = str(expression.aggregates).lower()
            return f"pipeexpression({show(child)}, {aggregates}, {clause})"
        case UnresolvedAlias(child=child):
            return f"unresolvedalias({show(child)})"
        case UnresolvedFunction():
            return _call_text(expression, show)
        case _:
            return None


def is_built_by_parser(function: UnresolvedFunction) -> bool:
    """Whether the grammar has a form for it with as many operands: it was not looked up by name."""
    spec = registry.find(function.name)
    if spec is None or spec.parsed_operands is None or spec.name != function.name:
        return False
    least, most = spec.parsed_operands
    return least <= len(function.arguments) <= most


def _call_text(function: UnresolvedFunction, show: Show) -> str:
    name = function.name
    one = len(function.arguments) == 1
    spec = registry.find(name)
    takes_nulls = spec is not None and spec.nulls_in_arguments
    if takes_nulls and one and not function.distinct and function.ignore_nulls is None:
        return f"{name}({show(function.arguments[0])}, false)"
    if name == "trim" and one:
        return f"'trim({show(function.arguments[0])})"
    if is_built_by_parser(function) and function.filter is None and not function.distinct:
        if spec is not None and spec.text is not None:
            return spec.text(Call(name=name, arguments=function.arguments), show)
        return f"{name}({cut_arguments(list(map(show, function.arguments)))})"
    start = "(distinct " if function.distinct else "("
    arguments = ", ".join(show(child) for child in function.children)
    return f"'{quote_if_needed(name)}{start}{arguments})"
