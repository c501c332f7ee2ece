"""String functions: cases, parts, search, padding, encodings."""

from __future__ import annotations

from typing import AnyStr, cast

from ..expressions.core import Call, Expression, Literal, lit
from ..registry import FunctionSpec, Show, register
from ..schemas.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    BinaryType,
    DataType,
    StringType,
)
from ..settings.conf import Conf
from . import text_values as values
from .build import null
from .coercion import cast_to, coerce_to_common, merge_types
from .inputs import parameter
from .mismatch import diff_types, require_count, unexpected_type
from .shapes import (
    UTILITIES,
    always_null,
    check_types,
    each,
    invoked,
    like_call,
    named,
    replaced,
    scalar,
    taking,
    with_arguments,
)

MAX_INT = 2**31 - 1
_MASK = (
    ("str", None),
    ("upperChar", lit("X")),
    ("lowerChar", lit("x")),
    ("digitChar", lit("n")),
    ("otherChar", null(STRING)),
)


def _check_concat(call: Call, conf: Conf) -> Expression:
    """All arrays, all binary, or all strings."""
    types = [a.data_type for a in call.arguments]
    if types and all(isinstance(t, ArrayType) for t in types):
        arrays = coerce_to_common(call.arguments, conf)
        if arrays is None:
            raise diff_types(call, choice=True)
        return with_arguments(call, arrays)
    if types and all(isinstance(t, BinaryType) for t in types):
        return call
    text = parameter("string")
    texts = [
        a if text.implicit(t, ansi=conf.ansi) is None else cast_to(a, STRING, conf)
        for a, t in zip(call.arguments, types, strict=True)
    ]
    typed = with_arguments(call, texts)
    for position, value in enumerate(texts):
        if not isinstance(value.data_type, StringType | BinaryType | ArrayType):
            raise unexpected_type(typed, position, '("STRING" or "BINARY" or "ARRAY")')
    if not all(isinstance(value.data_type, StringType) for value in texts):
        raise diff_types(typed, choice=True)
    return typed


def _concat_type(call: Call) -> DataType:
    if not call.arguments:
        return STRING
    return merge_types([a.data_type for a in call.arguments])


def _concat_value(call: Call, *parts: object) -> object:
    if isinstance(call.data_type, ArrayType):
        return tuple(item for part in parts for item in part)  # type: ignore[attr-defined]
    if isinstance(call.data_type, BinaryType):
        return b"".join(cast("tuple[bytes, ...]", parts))
    return "".join(map(str, parts))


def _trim(name: str, side: str) -> FunctionSpec:
    """trim, ltrim, rtrim; the call keeps the text first, the characters (if any) second."""

    def check(call: Call, conf: Conf) -> Expression:
        require_count(call, 1, 2)
        turned = with_arguments(call, call.arguments[::-1])
        return check_types(turned, ["string"] * len(call.arguments), conf)

    def show_pretty(call: Call, show: Show) -> str:
        text, *characters = map(show, call.arguments)
        return f"TRIM({side} {characters[0]} FROM {text})" if characters else f"{name}({text})"

    return scalar(
        name,
        "string, [string]",
        STRING,
        check=check,
        text="{name}({0}, {option1})",
        pretty=show_pretty,
        sql=show_pretty,
        null_for_null=True,
        constant_text="data",
        parsed_operands=(1, 2) if name == "trim" else None,
        evaluate=lambda call, *texts: _trimmed(side, *texts),
    )


def _trimmed(side: str, text: str, characters: str = " ") -> str:
    if side != "TRAILING":
        text = text.lstrip(characters)
    return text if side == "LEADING" else text.rstrip(characters)


def _substring(call: Call, text: object, start: int, length: int) -> object:
    if not isinstance(text, str):
        raise ValueError(text)
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = begin + length
    return text[max(begin, 0) : max(end, 0)] if end > begin else ""


def _left(call: Call) -> Expression:
    text, length = call.arguments
    return like_call(call, "substring", text, lit(1), length)


def _right(call: Call) -> Expression:
    text, length = call.arguments
    from_end = like_call(call, "negative", length)
    tail = like_call(call, "substring", text, from_end, lit(MAX_INT))
    is_empty = like_call(call, "<=", length, lit(0))
    shortened = like_call(call, "if", is_empty, lit(""), tail)
    return like_call(call, "if", like_call(call, "isnull", text), null(STRING), shortened)


def _index_of(
    call: Call, needle: str | None, text: str | None, start: int | None = 1
) -> int | None:
    if start is None:
        return 0
    if needle is None or text is None:
        return None
    return text.find(needle, start - 1) + 1 if start > 0 else 0


def _check_instr(call: Call, conf: Conf) -> Expression:
    """`instr(text, part, start, occurrence)`: the last two together, or neither."""
    require_count(call, 2, 3, 4)
    if len(call.arguments) == 3:
        call = with_arguments(call, (*call.arguments, lit(1)))
    return check_types(call, ["string", "string", "int", "int"][: len(call.arguments)], conf)


def _position(call: Call, text: str, part: str, *where: int) -> int:
    if where:
        raise ValueError(where)
    return text.find(part) + 1


_PADDED = "string, int, [string= ]"
_check_padded_texts = taking(_PADDED)


def _check_pad(call: Call, conf: Conf) -> Expression:
    """Bytes padded with bytes stay bytes, by a method of Spark's; all else is padded as strings."""
    arguments = call.arguments
    if len(arguments) == 2:
        arguments += (Literal(value=b"\0", type_=BINARY),)
    if (
        len(arguments) != 3
        or not all(isinstance(a.data_type, BinaryType) for a in arguments[::2])
        or conf.flag("spark.sql.legacy.lpadRpadAlwaysReturnString")
    ):
        return _check_padded_texts(call, conf)
    typed = check_types(with_arguments(call, arguments), ["binary", "int", "binary"], conf)
    options = (call.name, f"ByteArray.{call.name}", "{args}")
    return like_call(typed, "static_invoke", *typed.arguments, options=options)


def _padded(call: Call, text: AnyStr, length: int, pad: AnyStr) -> AnyStr:
    if length <= len(text) or not pad:
        return text[: max(length, 0)]
    fill = (pad * length)[: length - len(text)]
    return fill + text if call.name == "lpad" else text + fill


register(
    *each(
        *named(scalar("upper", "string", STRING, evaluate=lambda call, s: s.upper()), "ucase"),
        *named(scalar("lower", "string", STRING, evaluate=lambda call, s: s.lower()), "lcase"),
        *named(
            scalar("length", "string|binary", INT, evaluate=lambda call, s: len(s)),
            "char_length",
            "character_length",
            "len",
        ),
        scalar("find_in_set", "string, string", INT, evaluate=values.place_in_list),
        pushed_into_branches=True,
        constant_text="data",
    ),
    *each(
        scalar("bit_length", "string|binary", INT, evaluate=lambda call, s: 8 * values.octets(s)),
        scalar("ascii", "string", INT, evaluate=lambda call, s: ord(s[0]) if s else 0),
        *named(scalar("chr", "bigint", STRING, evaluate=values.character), "char"),
        pushed_into_branches=True,
    ),
    scalar("soundex", "!string", STRING, evaluate=values.soundex),
    scalar(
        "initcap",
        "string",
        STRING,
        evaluate=lambda call, s: " ".join(w[:1].upper() + w[1:].lower() for w in s.split(" ")),
    ),
    scalar("octet_length", "string|binary", INT, evaluate=lambda call, s: values.octets(s)),
    scalar("reverse", "string|binary|array", 0, evaluate=lambda call, s: s[::-1]),
    scalar("repeat", "string, int", STRING, evaluate=lambda call, s, n: s * n),
    scalar("space", "int", STRING, evaluate=lambda call, n: " " * n),
    _trim("trim", "BOTH"),
    _trim("ltrim", "LEADING"),
    _trim("rtrim", "TRAILING"),
    *each(
        replaced(
            "btrim", "string, [string]", lambda call: like_call(call, "trim", *call.arguments)
        ),
        replaced("left", "string|binary, int", _left),
        replaced("right", "string, int", _right),
        scalar(
            "concat",
            "any...",
            _concat_type,
            check=_check_concat,
            text="concat({args})",
            null_for_null=True,
            evaluate=_concat_value,
            parsed_operands=(2, 2),
            treats_alike=True,
        ),
        scalar(
            "concat_ws",
            "string, array=<string>|string...",
            STRING,
            nullable=lambda call: call.arguments[0].nullable,
            null_intolerant=False,
            evaluate=values.joined,
        ),
        *named(
            scalar("substring", f"string|binary, int, [int={MAX_INT}]", 0, evaluate=_substring),
            "substr",
        ),
        scalar("substring_index", "string, string, int", STRING, evaluate=values.substring_index),
        *named(
            scalar(
                "locate", "string, string, [int=1]", INT, evaluate=_index_of, null_intolerant=False
            ),
            "position",
        ),
        scalar("instr", "string, string", INT, check=_check_instr, evaluate=_position),
        scalar("lpad", _PADDED, 0, check=_check_pad, evaluate=_padded),
        scalar("rpad", _PADDED, 0, check=_check_pad, evaluate=_padded),
        scalar(
            "replace",
            "string, string, [string='']",
            STRING,
            evaluate=lambda call, s, a, b: s.replace(a, b) if a else s,
        ),
        scalar("translate", "string, string, string", STRING, evaluate=values.translated),
        scalar(
            "levenshtein",
            "string, string, [int]",
            INT,
            text="levenshtein({0}, {1}, {option2})",
            evaluate=values.levenshtein,
        ),
        constant_text="data",
    ),
    scalar(
        "elt",
        "int, string|binary, string|binary...",
        1,
        text="elt({args}, {ansi})",
        nullable=always_null,
        null_intolerant=False,
        treats_alike=True,
    ),
    scalar(
        "overlay",
        "string|binary, string|binary, int, [int=-1]",
        0,
        parsed_operands=(3, 4),
        evaluate=values.overlaid,
    ),
    scalar(
        "format_number",
        "numeric, int|string",
        STRING,
        nullable=always_null,
        constant_number=True,
        null_for_null=True,
        evaluate=values.with_thousands,
    ),
    *named(
        scalar(
            "format_string",
            "string, any...",
            STRING,
            nullable=lambda call: call.arguments[0].nullable,
            null_intolerant=False,
            evaluate=values.formatted,
            treats_alike=True,
        ),
        "printf",
    ),
    scalar(
        "mask",
        "!string, [!string=X], [!string=x], [!string=n], [!string=null]",
        STRING,
        null_intolerant=False,
        nullable=always_null,
        named_parameters=_MASK,
    ),
    invoked("quote", "string", STRING, f"{UTILITIES}.quote"),
    invoked("luhn_check", "string", BOOLEAN, f"{UTILITIES}.isLuhnNumber"),
    invoked(
        "jaro_winkler_similarity", "string, string", DOUBLE, f"{UTILITIES}.jaroWinklerSimilarity"
    ),
    invoked(
        "sentences",
        "string, [string=''], [string='']",
        ArrayType(ArrayType(STRING, False), False),
        f"{UTILITIES}.getSentences",
    ),
)
