"""How plans show what analysis has still to resolve."""

from __future__ import annotations

from collections.abc import Callable

from .. import registry
from ..expressions.core import Call, Expression
from ..expressions.unresolved import (
    NamedArgument,
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
    UnresolvedOrdinal,
    UnresolvedStar,
)
from ..schemas.types import quote_if_needed
from .fields_shown import cut_arguments

Show = Callable[[Expression], str]

_MANY = range(1, 2**31)
# What the parser itself builds, of how many operands. Everything else in a query is a function that
# is looked up by name; Spark marks it with a quote as long as it is unresolved.
_BUILT_BY_PARSER: dict[str, range] = {
    **dict.fromkeys(("+", "-", "trim"), range(1, 3)),
    **dict.fromkeys(("~", "negative", "positive", "not", "isnull", "isnotnull"), range(1, 2)),
    **dict.fromkeys(("*", "/", "%", "div", "&", "|", "^", "and", "or"), range(2, 3)),
    **dict.fromkeys(("=", "<=>", "<", "<=", ">", ">=", "rlike", "concat", "extract"), range(2, 3)),
    **dict.fromkeys(("like", "ilike"), range(2, 4)),
    **dict.fromkeys(("likeany", "likeall", "notlikeany", "notlikeall", "in", "struct"), _MANY),
    "overlay": range(3, 5),
}
_OF_NULLS = ("first", "last", "any_value")
"""Functions that the grammar knows, for IGNORE NULLS among their arguments."""


def unresolved_text(expression: Expression, show: Show) -> str | None:
    """The form in plans, `show` being that of anything; None for what is no such expression."""
    match expression:
        case UnresolvedAttribute(parts=parts):
            return "'" + ".".join(quote_if_needed(part) for part in parts)
        case UnresolvedLambdaVariable(parts=parts):
            return "lambda '" + ".".join(parts)
        case UnresolvedStar(target=target, except_names=excepted):
            star = ".".join((*target, "*"))
            return star if not excepted else f"{star} EXCEPT ({_names(excepted)})"
        case UnresolvedOrdinal(ordinal=ordinal):
            return f"unresolvedordinal({ordinal})"
        case NamedArgument(name=name, value=value):
            return f"{name} => {show(value)}"
        case UnresolvedAlias(child=child):
            return f"unresolvedalias({show(child)})"
        case UnresolvedFunction():
            return _call_text(expression, show)
        case _:
            return None


def _names(names: tuple[tuple[str, ...], ...]) -> str:
    return ", ".join(".".join(parts) for parts in names)


def is_built_by_parser(function: UnresolvedFunction) -> bool:
    """Whether the grammar has a form for it with as many operands: it was not looked up by name."""
    return len(function.arguments) in _BUILT_BY_PARSER.get(function.name, ())


def _call_text(function: UnresolvedFunction, show: Show) -> str:
    name = function.name
    one = len(function.arguments) == 1
    if name in _OF_NULLS and one and not function.distinct and function.ignore_nulls is None:
        return f"{name}({show(function.arguments[0])}, false)"
    if name == "trim" and one:
        return f"'trim({show(function.arguments[0])})"
    if is_built_by_parser(function) and function.filter is None and not function.distinct:
        spec = registry.find(name)
        if spec is not None and spec.text is not None:
            return spec.text(Call(name=name, arguments=function.arguments), show)
        return f"{name}({cut_arguments(list(map(show, function.arguments)))})"
    start = "(distinct " if function.distinct else "("
    arguments = ", ".join(show(child) for child in function.children)
    return f"'{quote_if_needed(name)}{start}{arguments})"
