"""String functions: cases, parts, search, padding, encodings."""

from __future__ import annotations

from collections.abc import Callable

from ..expressions.core import Call, Expression, Literal, lit
from ..registry import FunctionSpec, Show, register
from ..schemas.types import (
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
from .coercion import cast_to, coerce_to_common, merge_types
from .inputs import parameter
from .mismatch import diff_types, unexpected_type, wrong_argument_count
from .shapes import (
    always_null,
    check_types,
    invoked,
    like_call,
    named,
    replaced,
    scalar,
    with_arguments,
)

MAX_INT = 2**31 - 1


_MASK = (
    ("str", None),
    ("upperChar", lit("X")),
    ("lowerChar", lit("x")),
    ("digitChar", lit("n")),
    ("otherChar", Literal(value=None, type_=STRING)),
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


def _concat_text(call: Call, show: Show) -> str:
    """All arguments, however many."""
    return f"concat({', '.join(show(a) for a in call.arguments)})"


def _concat_value(call: Call, *parts: object) -> object:
    if isinstance(call.data_type, ArrayType):
        return tuple(item for part in parts for item in part)  # type: ignore[attr-defined]
    return "".join(str(part) for part in parts)


def _check_concat_ws(call: Call, conf: Conf) -> Expression:
    if not call.arguments:
        raise wrong_argument_count("concat_ws", "> 0", 0)
    kinds = ["string", *["array=<string>|string"] * (len(call.arguments) - 1)]
    return check_types(call, kinds, conf)


def _check_elt(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) < 2:
        raise wrong_argument_count("elt", "> 1", len(call.arguments))
    kinds = ["int", *["string|binary"] * (len(call.arguments) - 1)]
    return check_types(call, kinds, conf)


def _trim(name: str, side: str) -> FunctionSpec:
    """trim, ltrim, rtrim; the call keeps the text first, the characters (if any) second."""

    def check(call: Call, conf: Conf) -> Expression:
        if len(call.arguments) not in (1, 2):
            raise wrong_argument_count(name, "[1, 2]", len(call.arguments))
        turned = with_arguments(call, call.arguments[::-1])
        return check_types(turned, ["string"] * len(call.arguments), conf)

    def show_pretty(call: Call, show: Show) -> str:
        shown = [show(a) for a in call.arguments]
        if len(shown) == 1:
            return f"{name}({shown[0]})"
        return f"TRIM({side} {shown[1]} FROM {shown[0]})"

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


def _btrim(call: Call) -> Expression:
    return like_call(call, "trim", *call.arguments)


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
    null = Literal(value=None, type_=STRING)
    tail = like_call(call, "substring", text, _minus(call, length), lit(MAX_INT))
    long_enough = like_call(call, "<=", length, lit(0))
    shortened = like_call(call, "if", long_enough, lit(""), tail)
    return like_call(call, "if", like_call(call, "isnull", text), null, shortened)


def _minus(call: Call, length: Expression) -> Expression:
    return like_call(call, "negative", length)


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
    count = len(call.arguments)
    if count not in (2, 3, 4):
        raise wrong_argument_count(call.name, "[2, 3, 4]", count)
    if count == 3:
        call = with_arguments(call, (*call.arguments, lit(1)))
    return check_types(call, ["string", "string", "int", "int"][: len(call.arguments)], conf)


def _position(call: Call, text: str, part: str, *where: int) -> int:
    if where:
        raise ValueError(where)
    return text.find(part) + 1


def _initcap(call: Call, text: str) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def _padded(call: Call, text: str, length: int, pad: str) -> str:
    if length <= len(text) or not pad:
        return text[: max(length, 0)]
    fill = (pad * length)[: length - len(text)]
    return fill + text if call.name == "lpad" else text + fill


def _cased(name: str, evaluate: Callable[[Call, str], str]) -> FunctionSpec:
    return scalar(
        name,
        "string",
        STRING,
        evaluate=evaluate,
        pushed_into_branches=True,
        constant_text="data",
    )


register(
    *named(_cased("upper", lambda call, s: s.upper()), "ucase"),
    *named(_cased("lower", lambda call, s: s.lower()), "lcase"),
    _trim("trim", "BOTH"),
    _trim("ltrim", "LEADING"),
    _trim("rtrim", "TRAILING"),
    replaced("btrim", "string, [string]", _btrim, constant_text="data"),
    scalar("initcap", "string", STRING, evaluate=_initcap, pushed_into_branches=True),
    scalar(
        "concat",
        "any...",
        _concat_type,
        check=_check_concat,
        text=_concat_text,
        null_for_null=True,
        evaluate=_concat_value,
        parsed_operands=(2, 2),
        treats_alike=True,
        constant_text="data",
    ),
    scalar(
        "concat_ws",
        "string, any...",
        STRING,
        check=_check_concat_ws,
        nullable=lambda call: call.arguments[0].nullable,
        null_intolerant=False,
        evaluate=values.joined,
        constant_text="data",
    ),
    scalar(
        "elt",
        "int, any...",
        1,
        check=_check_elt,
        text="elt({args}, {ansi})",
        nullable=always_null,
        null_intolerant=False,
        treats_alike=True,
    ),
    *named(
        scalar(
            "length",
            "string|binary",
            INT,
            evaluate=lambda call, s: len(s),
            pushed_into_branches=True,
            constant_text="data",
        ),
        "char_length",
        "character_length",
        "len",
    ),
    scalar(
        "bit_length",
        "string|binary",
        INT,
        evaluate=lambda call, s: 8 * values.octets(s),
        pushed_into_branches=True,
    ),
    scalar("octet_length", "string|binary", INT, evaluate=lambda call, s: values.octets(s)),
    scalar(
        "ascii",
        "string",
        INT,
        evaluate=lambda call, s: ord(s[0]) if s else 0,
        pushed_into_branches=True,
    ),
    *named(
        scalar("chr", "bigint", STRING, evaluate=values.character, pushed_into_branches=True),
        "char",
    ),
    scalar("reverse", "string|binary|array", 0, evaluate=lambda call, s: s[::-1]),
    scalar("repeat", "string, int", STRING, evaluate=lambda call, s, n: s * n),
    scalar("space", "int", STRING, evaluate=lambda call, n: " " * n),
    *named(
        scalar(
            "substring",
            f"string|binary, int, [int={MAX_INT}]",
            0,
            evaluate=_substring,
            constant_text="data",
        ),
        "substr",
    ),
    scalar(
        "substring_index",
        "string, string, int",
        STRING,
        evaluate=values.substring_index,
        constant_text="data",
    ),
    replaced("left", "string|binary, int", _left, constant_text="data"),
    replaced("right", "string, int", _right, constant_text="data"),
    *named(
        scalar(
            "locate",
            "string, string, [int=1]",
            INT,
            evaluate=_index_of,
            null_intolerant=False,
            constant_text="data",
        ),
        "position",
    ),
    scalar(
        "instr", "string, string", INT, check=_check_instr, evaluate=_position, constant_text="data"
    ),
    scalar("find_in_set", "string, string", INT, pushed_into_branches=True, constant_text="data"),
    scalar("lpad", "string, int, [string= ]", STRING, evaluate=_padded, constant_text="data"),
    scalar("rpad", "string, int, [string= ]", STRING, evaluate=_padded, constant_text="data"),
    scalar("overlay", "string|binary, string|binary, int, [int=-1]", 0, parsed_operands=(3, 4)),
    scalar(
        "replace",
        "string, string, [string='']",
        STRING,
        evaluate=lambda call, s, a, b: s.replace(a, b) if a else s,
        constant_text="data",
    ),
    scalar(
        "translate",
        "string, string, string",
        STRING,
        evaluate=values.translated,
        constant_text="data",
    ),
    scalar("soundex", "!string", STRING, evaluate=values.soundex, pushed_into_branches=True),
    scalar(
        "levenshtein",
        "string, string, [int]",
        INT,
        text="levenshtein({0}, {1}, {option2})",
        evaluate=values.levenshtein,
        constant_text="data",
    ),
    scalar(
        "format_number", "numeric, int|string", STRING, nullable=always_null, constant_number=True
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
    invoked("quote", "string", STRING, "ExpressionImplUtils.quote"),
    invoked("luhn_check", "string", BOOLEAN, "ExpressionImplUtils.isLuhnNumber"),
    invoked(
        "jaro_winkler_similarity",
        "string, string",
        DOUBLE,
        "ExpressionImplUtils.jaroWinklerSimilarity",
    ),
    invoked(
        "sentences",
        "string, [string=''], [string='']",
        ArrayType(ArrayType(STRING, False), False),
        "ExpressionImplUtils.getSentences",
        nullable=always_null,
    ),
)
