"""String functions."""

from __future__ import annotations

from ..conf import Conf
from ..expressions import Call, Expression
from ..registry import Show, register
from ..types import (
    INT,
    STRING,
    ArrayType,
    BinaryType,
    DataType,
)
from .coercion import cast_to, coerce_to_common, merge_types
from .inputs import parameter
from .mismatch import type_mismatch, wrong_argument_count
from .shapes import check_types, scalar, with_arguments

_TEXTS = ArrayType(STRING, True)


def _check_concat(call: Call, conf: Conf) -> Expression:
    """All arrays, all binary, or all strings."""
    types = [a.data_type for a in call.arguments]
    if types and all(isinstance(t, ArrayType) for t in types):
        values = coerce_to_common(call.arguments, conf)
        if values is None:
            raise _concat_types(call)
        return with_arguments(call, values)
    if types and all(isinstance(t, BinaryType) for t in types):
        return call
    text = parameter("string")
    targets = [text.implicit(t, ansi=conf.ansi) for t in types]
    if any(t is None for t in targets):
        raise _concat_types(call)
    return with_arguments(call, [cast_to(a, STRING, conf) for a in call.arguments])


def _concat_types(call: Call) -> Exception:
    from ..text import pretty

    names = " or ".join(f'"{a.data_type.sql}"' for a in call.arguments)
    detail = f"Input to `concat` should all be the same type, but it's ({names})."
    return type_mismatch("DATA_DIFF_TYPES", pretty(call), detail)


def _concat_type(call: Call) -> DataType:
    if not call.arguments:
        return STRING
    return merge_types([a.data_type for a in call.arguments])


def _check_concat_ws(call: Call, conf: Conf) -> Expression:
    if not call.arguments:
        raise wrong_argument_count("concat_ws", "> 0", 0)
    kinds = ["string", *["array<string>|string"] * (len(call.arguments) - 1)]
    return check_types(call, kinds, conf)


def _trim(name: str, side: str) -> object:
    """trim, ltrim, rtrim: the characters to trim come second, as in `TRIM(x FROM text)`."""

    def check(call: Call, conf: Conf) -> Expression:
        if len(call.arguments) not in (1, 2):
            raise wrong_argument_count(name, "[1, 2]", len(call.arguments))
        return check_types(call, ["string"] * len(call.arguments), conf)

    def show_text(call: Call, show: Show) -> str:
        shown = [show(a) for a in call.arguments]
        characters = f"Some({shown[1]})" if len(shown) == 2 else "None"
        return f"{name}({shown[0]}, {characters})"

    def show_pretty(call: Call, show: Show) -> str:
        shown = [show(a) for a in call.arguments]
        if len(shown) == 1:
            return f"{name}({shown[0]})"
        return f"TRIM({side} {shown[1]} FROM {shown[0]})"

    def show_sql(call: Call, show: Show) -> str:
        shown = [show(a) for a in call.arguments]
        if len(shown) == 1:
            return f"{name}({shown[0]})"
        return f"trim({side} {shown[1]} FROM {shown[0]})"

    return scalar(
        name,
        "string, [string]",
        STRING,
        check=check,
        text=show_text,
        pretty=show_pretty,
        sql=show_sql,
        evaluate=lambda call, *values: _trimmed(side, *values),
    )


def _trimmed(side: str, text: str, characters: str = " ") -> str:
    if side != "TRAILING":
        text = text.lstrip(characters)
    return text if side == "LEADING" else text.rstrip(characters)


def _substring(call: Call, text: object, start: int, length: int = 2**31 - 1) -> object:
    if not isinstance(text, str):
        raise ValueError
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = begin + length
    return text[max(begin, 0) : max(end, 0)] if end > begin else ""


register(
    scalar("upper", "string", STRING, evaluate=lambda call, s: s.upper(), aliases=("ucase",)),
    scalar("lower", "string", STRING, evaluate=lambda call, s: s.lower(), aliases=("lcase",)),
    _trim("trim", "BOTH"),  # type: ignore[arg-type]
    _trim("ltrim", "LEADING"),  # type: ignore[arg-type]
    _trim("rtrim", "TRAILING"),  # type: ignore[arg-type]
    scalar(
        "substring",
        "string|binary, int, [int=2147483647]",
        0,
        evaluate=_substring,
        aliases=("substr",),
    ),
    scalar(
        "concat",
        "any...",
        _concat_type,
        check=_check_concat,
        null_intolerant=True,
        evaluate=lambda call, *values: "".join(values),
    ),
    scalar(
        "concat_ws",
        "string, any...",
        STRING,
        check=_check_concat_ws,
        nullable=lambda call: call.arguments[0].nullable,
        null_intolerant=False,
    ),
    scalar(
        "length",
        "string|binary",
        INT,
        evaluate=lambda call, s: len(s),
        aliases=("char_length", "character_length", "len"),
    ),
)
