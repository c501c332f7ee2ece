"""String functions: cases, parts, search, padding, encodings."""

from __future__ import annotations

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
from .pattern_values import extracted, with_matches_replaced
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


_TEXTS = ArrayType(STRING, False)


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
        pushed_into_branches=(1,),
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


def _split_part(call: Call) -> Expression:
    text, delimiter, part = call.arguments
    parts = like_call(call, "stringsplitsql", text, delimiter)
    return like_call(call, "element_at", parts, part, options=("",)) if call else parts


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


def _split(call: Call, text: str, pattern: str, limit: int) -> tuple[str, ...]:
    """Where the pattern is one plain character."""
    if limit > 0 or len(pattern) != 1 or pattern in "\\.[]{}()*+-?^$|":
        raise ValueError(pattern)
    return tuple(text.split(pattern))


def _padded(call: Call, text: str, length: int, pad: str) -> str:
    if length <= len(text) or not pad:
        return text[: max(length, 0)]
    fill = (pad * length)[: length - len(text)]
    return fill + text if call.name == "lpad" else text + fill


def _regexp_count(call: Call) -> Expression:
    found = like_call(call, "regexp_extract_all", *call.arguments, lit(0))
    return like_call(call, "size", found, options=("null",))


def _regexp_substr(call: Call) -> Expression:
    found = like_call(call, "regexp_extract", *call.arguments, lit(0))
    return like_call(call, "nullif", found, lit(""))


register(
    *named(
        scalar(
            "upper", "string", STRING, evaluate=lambda call, s: s.upper(), pushed_into_branches=(1,)
        ),
        "ucase",
    ),
    *named(
        scalar(
            "lower", "string", STRING, evaluate=lambda call, s: s.lower(), pushed_into_branches=(1,)
        ),
        "lcase",
    ),
    _trim("trim", "BOTH"),
    _trim("ltrim", "LEADING"),
    _trim("rtrim", "TRAILING"),
    replaced("btrim", "string, [string]", _btrim),
    scalar("initcap", "string", STRING, evaluate=_initcap, pushed_into_branches=(1,)),
    scalar(
        "concat",
        "any...",
        _concat_type,
        check=_check_concat,
        text=_concat_text,
        null_for_null=True,
        evaluate=_concat_value,
    ),
    scalar(
        "concat_ws",
        "string, any...",
        STRING,
        check=_check_concat_ws,
        nullable=lambda call: call.arguments[0].nullable,
        null_intolerant=False,
        evaluate=values.joined,
    ),
    scalar(
        "elt",
        "int, any...",
        1,
        check=_check_elt,
        text="elt({args}, {ansi})",
        nullable=always_null,
        null_intolerant=False,
    ),
    *named(
        scalar(
            "length",
            "string|binary",
            INT,
            evaluate=lambda call, s: len(s),
            pushed_into_branches=(1,),
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
        pushed_into_branches=(1,),
    ),
    scalar("octet_length", "string|binary", INT, evaluate=lambda call, s: values.octets(s)),
    scalar(
        "ascii",
        "string",
        INT,
        evaluate=lambda call, s: ord(s[0]) if s else 0,
        pushed_into_branches=(1,),
    ),
    *named(
        scalar("chr", "bigint", STRING, evaluate=values.character, pushed_into_branches=(1,)),
        "char",
    ),
    scalar("reverse", "string|binary|array", 0, evaluate=lambda call, s: s[::-1]),
    scalar("repeat", "string, int", STRING, evaluate=lambda call, s, n: s * n),
    scalar("space", "int", STRING, evaluate=lambda call, n: " " * n),
    *named(
        scalar("substring", f"string|binary, int, [int={MAX_INT}]", 0, evaluate=_substring),
        "substr",
    ),
    scalar("substring_index", "string, string, int", STRING, evaluate=values.substring_index),
    replaced("left", "string|binary, int", _left),
    replaced("right", "string, int", _right),
    *named(
        scalar("locate", "string, string, [int=1]", INT, evaluate=_index_of, null_intolerant=False),
        "position",
    ),
    scalar("instr", "string, string", INT, check=_check_instr, evaluate=_position),
    scalar("find_in_set", "string, string", INT, pushed_into_branches=(2,)),
    scalar("lpad", "string, int, [string= ]", STRING, evaluate=_padded),
    scalar("rpad", "string, int, [string= ]", STRING, evaluate=_padded),
    scalar("overlay", "string|binary, string|binary, int, [int=-1]", 0),
    scalar(
        "replace",
        "string, string, [string='']",
        STRING,
        evaluate=lambda call, s, a, b: s.replace(a, b) if a else s,
    ),
    scalar("translate", "string, string, string", STRING, evaluate=values.translated),
    scalar("soundex", "!string", STRING, evaluate=values.soundex, pushed_into_branches=(1,)),
    scalar(
        "levenshtein",
        "string, string, [int]",
        INT,
        text="levenshtein({0}, {1}, {option2})",
        evaluate=values.levenshtein,
    ),
    scalar("format_number", "numeric, int|string", STRING, nullable=always_null),
    *named(
        scalar(
            "format_string",
            "string, any...",
            STRING,
            nullable=lambda call: call.arguments[0].nullable,
            null_intolerant=False,
            evaluate=values.formatted,
        ),
        "printf",
    ),
    scalar(
        "mask",
        "!string, [!string=X], [!string=x], [!string=n], [!string=null]",
        STRING,
        null_intolerant=False,
        nullable=always_null,
        parameter_names=("str", "upperChar", "lowerChar", "digitChar", "otherChar"),
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
    # Splitting.
    scalar("split", "string, string, [int=-1]", _TEXTS, evaluate=_split),
    scalar("stringsplitsql", "string, string", _TEXTS),
    replaced("split_part", "string, string, int", _split_part, sql="split_part({args})"),
    # Regular expressions.
    scalar("regexp_extract", "string, string, [int=1]", STRING, evaluate=extracted),
    scalar("regexp_extract_all", "string, string, [int=1]", ArrayType(STRING, True)),
    scalar(
        "regexp_replace", "string, string, string, [int=1]", STRING, evaluate=with_matches_replaced
    ),
    scalar("regexp_instr", "string, string, [int=0]", INT),
    replaced("regexp_count", "string, string", _regexp_count),
    replaced("regexp_substr", "string, string", _regexp_substr),
)
