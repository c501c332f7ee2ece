"""LIKE and its kin, regular expressions, and what the optimizer makes of simple patterns."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import AnalysisError
from ..expressions.core import Call, Expression, Literal, lit
from ..registry import FunctionSpec, Show, one_function, register
from ..schemas.types import BOOLEAN, INT, STRING, ArrayType, BinaryType
from ..settings.conf import Conf
from ..text.quoting import to_sql_expr
from ..tree import replace
from .mismatch import require_count
from .pattern_values import all_extracted, extracted, found, like, with_matches_replaced
from .shapes import always_null, check_types, each, like_call, replaced, resolve_like, scalar

_TEXTS = ArrayType(STRING, False)


def _check_like(call: Call, conf: Conf) -> Expression:
    """`value LIKE pattern [ESCAPE character]`: the character is an option, not an argument."""
    require_count(call, 2, 3)
    if len(call.arguments) == 3:
        escape = call.arguments[2]
        character = escape.value if isinstance(escape, Literal) else None
        if not (isinstance(character, str) and len(character) == 1):
            raise AnalysisError.of("INVALID_ESCAPE_CHAR", sqlExpr=to_sql_expr(escape))
        call = replace(call, arguments=call.arguments[:2], options=(character,))
    return check_types(call, ["string", "string"], conf)


def like_escape(call: Call) -> str:
    """The escape character of a LIKE."""
    if call.options:
        return str(call.options[0])
    if len(call.arguments) == 3 and isinstance(call.arguments[2], Literal):
        return str(call.arguments[2].value)
    return "\\"


def _like_text(call: Call, show: Show) -> str:
    value, pattern = map(show, call.arguments[:2])
    escape = like_escape(call)
    suffix = "" if escape == "\\" else f" ESCAPE '{escape}'"
    return f"{value} LIKE {pattern}{suffix}"


def _like_sql(call: Call, show: Show) -> str:
    return f"({_like_text(call, show)})"


def _ilike_text(call: Call, show: Show) -> str:
    value, pattern = map(show, call.arguments[:2])
    return f"ilike({value}, {pattern}, {like_escape(call)})"


def _ilike_replacement(call: Call) -> Expression:
    lowered = [resolve_like(call, "lower", argument) for argument in call.arguments]
    return replace(call, name="like", arguments=tuple(lowered))


def _many_patterns(name: str, words: str) -> FunctionSpec:
    def show_sql(call: Call, show: Show) -> str:
        value, *patterns = map(show, call.arguments)
        return f"({value} {words} ({', '.join(patterns)}))"

    return scalar(
        name,
        "string, string...",
        BOOLEAN,
        pretty=name + "({0})",
        parsed_operands=(1, 2**31 - 1),
        constant_text="like",
        sql=show_sql,
        nullable=always_null,
        written=False,
    )


def _part_of(name: str, shown: str, evaluate: Callable[[Call, str, str], bool]) -> FunctionSpec:
    """contains and its kin: of two strings, or of bytes by a method."""
    method = f"{shown[0].lower()}{shown[1:]}"

    def check(call: Call, conf: Conf) -> Expression:
        require_count(call, 2)
        if not all(isinstance(a.data_type, BinaryType) for a in call.arguments):
            return check_types(call, ["string", "string"], conf)
        options = (name, f"ByteArrayMethods.{method}", "{args}")
        return like_call(call, "static_invoke", *call.arguments, options=options)

    return scalar(
        name,
        "any, any",
        BOOLEAN,
        check=check,
        text=f"{shown}({{0}}, {{1}})",
        evaluate=evaluate,
        ansi_free=True,
        pushed_into_branches=True,
        constant_text="data",
        source_filter=f"String{shown}",
    )


def _split_part(call: Call) -> Expression:
    text, delimiter, part = call.arguments
    parts = like_call(call, "stringsplitsql", text, delimiter)
    return like_call(call, "element_at", parts, part, options=("",))


def _split(call: Call, text: str, pattern: str, limit: int) -> tuple[str, ...]:
    """Where the pattern is one plain character."""
    if len(pattern) != 1 or pattern in "\\.[]{}()*+-?^$|":
        raise ValueError(pattern)
    return tuple(text.split(pattern, limit - 1 if limit > 0 else -1))


def _divided(call: Call, text: str, delimiter: str) -> tuple[str, ...]:
    return tuple(text.split(delimiter)) if delimiter else (text,)


def _regexp_count(call: Call) -> Expression:
    found = like_call(call, "regexp_extract_all", *call.arguments, lit(0))
    return like_call(call, "size", found, options=("null",))


def _regexp_substr(call: Call) -> Expression:
    found = like_call(call, "regexp_extract", *call.arguments, lit(0))
    return like_call(call, "nullif", found, lit(""))


register(
    *each(
        scalar(
            "like",
            "string, string",
            BOOLEAN,
            check=_check_like,
            text=_like_text,
            pretty=_like_text,
            sql=_like_sql,
            evaluate=like,
            pushed_into_branches=True,
        ),
        scalar(
            "ilike",
            "string, string",
            BOOLEAN,
            check=_check_like,
            text=_ilike_text,
            pretty="ilike({0}, {1})",
            sql=lambda call, show: _like_sql(call, show).replace(" LIKE ", " ILIKE ", 1),
            replacement=_ilike_replacement,
        ),
        costly=True,
        predicate=True,
        parsed_operands=(2, 3),
        constant_text="like",
    ),
    *one_function(
        *(
            scalar(
                name,
                "string, string",
                BOOLEAN,
                text="RLIKE({0}, {1})",
                pretty="{upper}({0}, {1})",
                sql="rlike({0}, {1})",
                evaluate=found,
                predicate=True,
                costly=True,
                constant_text="regex",
                parsed_operands=(2, 2) if name == "rlike" else None,
                pushed_into_branches=True,
            )
            for name in ("rlike", "regexp", "regexp_like")
        )
    ),
    _many_patterns("likeany", "LIKE ANY"),
    _many_patterns("likeall", "LIKE ALL"),
    _many_patterns("notlikeany", "NOT LIKE ANY"),
    _many_patterns("notlikeall", "NOT LIKE ALL"),
    # LIKE '%text%' and its kin after the optimizer; also functions of their own.
    _part_of("contains", "Contains", lambda call, text, part: part in text),
    _part_of("startswith", "StartsWith", lambda call, text, part: text.startswith(part)),
    _part_of("endswith", "EndsWith", lambda call, text, part: text.endswith(part)),
    replaced(
        "split_part",
        "string, string, int",
        _split_part,
        sql="split_part({args})",
        constant_text="data",
    ),
    *each(
        scalar("split", "string, string, [int=-1]", _TEXTS, evaluate=_split),
        scalar("stringsplitsql", "string, string", _TEXTS, evaluate=_divided, written=False),
        replaced("regexp_count", "string, string", _regexp_count),
        replaced("regexp_substr", "string, string", _regexp_substr),
        *each(
            scalar("regexp_extract", "string, string, [int=1]", STRING, evaluate=extracted),
            scalar(
                "regexp_extract_all",
                "string, string, [int=1]",
                ArrayType(STRING, True),
                evaluate=all_extracted,
            ),
            scalar(
                "regexp_replace",
                "string, string, string, [int=1]",
                STRING,
                evaluate=with_matches_replaced,
            ),
            scalar("regexp_instr", "string, string, [int=0]", INT),
            constant_number=True,
        ),
        constant_text="regex",
    ),
)
