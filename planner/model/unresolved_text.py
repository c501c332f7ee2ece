"""How plans show what analysis has still to resolve."""

from __future__ import annotations

from collections.abc import Callable

from . import registry
from .expressions import Call, Expression
from .fields_shown import cut_arguments
from .unresolved import (
    NamedArgument,
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
    UnresolvedOrdinal,
    UnresolvedStar,
)

Show = Callable[[Expression], str]

# What the parser itself builds; everything else in a query is a function looked up by name, which
# Spark marks with a quote as long as it is unresolved.
BUILT_BY_PARSER = frozenset(
    (
        *("+", "-", "*", "/", "%", "div", "&", "|", "^", "~", "negative", "positive"),
        *("=", "<=>", "<", "<=", ">", ">=", "and", "or", "not", "isnull", "isnotnull", "in"),
        *("like", "rlike", "ilike", "likeany", "likeall", "notlikeany", "notlikeall"),
        *("concat", "struct", "trim", "overlay"),
        "extract",
    )
)
_OF_NULLS = ("first", "last", "any_value")
"""Functions that the grammar knows, for IGNORE NULLS among their arguments."""


def quote_if_needed(name: str) -> str:
    """A name part in backticks if it is no plain identifier."""
    plain = name.isascii() and name.replace("_", "a").isalnum() and not name[:1].isdigit()
    return name if plain else "`" + name.replace("`", "``") + "`"


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


def _call_text(function: UnresolvedFunction, show: Show) -> str:
    name = function.name
    one = len(function.arguments) == 1
    if name in _OF_NULLS and one and not function.distinct and function.ignore_nulls is None:
        return f"{name}({show(function.arguments[0])}, false)"
    if name == "trim" and one:
        return f"'trim({show(function.arguments[0])})"
    if name in BUILT_BY_PARSER and function.filter is None and not function.distinct:
        spec = registry.find(name)
        if spec is not None and spec.text is not None:
            return spec.text(Call(name=name, arguments=function.arguments), show)
        return f"{name}({cut_arguments(list(map(show, function.arguments)))})"
    start = "(distinct " if function.distinct else "("
    arguments = ", ".join(show(child) for child in function.children)
    return f"'{name}{start}{arguments})"
