"""Strings as bytes and back: encodings, digits, formats, URLs."""

from __future__ import annotations

from ..errors import AnalysisError
from ..expressions.core import Call, CaseWhen, Expression, Literal, lit
from ..registry import FunctionSpec, Show, null_if_any, register
from ..schemas.types import BINARY, BOOLEAN, STRING, BinaryType, DataType, DatetimeType, DecimalType
from ..settings.conf import Conf
from ..text.quoting import to_sql_id
from ..tree import replace
from .coercion import cast_to
from .mismatch import non_foldable, non_foldable_argument, require_count, wrong_argument_count
from .shapes import (
    always_null,
    check_types,
    conf_of,
    each,
    invoked,
    like_call,
    named,
    resolve_like,
    scalar,
    taking,
    template,
)
from .text_values import encoded, for_url, in_base64, unhex


def _hex(call: Call, value: object) -> str:
    if isinstance(value, int):
        return format(value % 2**64, "X")
    return (value if isinstance(value, bytes) else str(value).encode()).hex().upper()


def _decode(call: Call) -> Expression:
    """`decode(bytes, charset)`, or `decode(value, search, result, ..., default)` as a CASE."""
    if len(call.arguments) == 2:
        text, charset = call.arguments
        return like_call(
            call,
            "static_invoke",
            cast_to(text, BINARY, conf_of(call)),
            charset,
            options=("decode", "StringDecode.decode", "{args}, false, false"),
        )
    value, *pairs = call.arguments
    default = pairs.pop() if len(pairs) % 2 else None
    return CaseWhen(
        conditions=tuple(resolve_like(call, "<=>", value, search) for search in pairs[::2]),
        values=tuple(pairs[1::2]),
        otherwise=Literal(value=None, type_=pairs[1].data_type) if default is None else default,
    )


def _check_decode(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) < 2:
        raise wrong_argument_count("decode", "> 1", len(call.arguments))
    if len(call.arguments) == 2:
        return check_types(call, ["binary", "string"], conf)
    _decode(call)
    return call


def _unhex_text(call: Call, show: Show) -> str:
    """The last says whether bad input is an error."""
    return f"{call.name}({show(call.arguments[0])}, {'true' if call.options else 'false'})"


def _unhex_sql(call: Call, show: Show) -> str:
    value = show(call.arguments[0])
    if not call.options:
        return f"{call.name}({value})"
    return f"to_binary({value}, '{'hex' if call.name == 'unhex' else 'base64'}')"


def _to_char(call: Call, conf: Conf) -> Expression:
    """Of a number it formats digits, of a date or time it is date_format, of bytes an encoding."""
    require_count(call, 2)
    kind = call.arguments[0].data_type
    if isinstance(kind, DatetimeType):
        return resolve_like(call, "date_format", *call.arguments)
    if isinstance(kind, BinaryType):
        return _binary_text(call)
    typed = check_types(like_call(call, "to_char", *call.arguments), ["decimal", "string"], conf)
    return _constant_format(typed, conf)


def _constant_format(call: Call, conf: Conf) -> Expression:
    """The call itself; Spark names the kind of expression that the format is.

    Raises:
        AnalysisError: the format is no constant.
    """
    form = call.arguments[1]
    if not form.foldable:
        kind = {"AttributeReference": "attributereference", "Cast": "cast"}
        name = kind.get(type(form).__name__, form.name if isinstance(form, Call) else "format")
        raise non_foldable(call, name, "STRING", form)
    return call


def _binary_text(call: Call) -> Expression:
    """`to_char(bytes, format)` is the function that the format names.

    Raises:
        AnalysisError: it names none, or is no constant.
    """
    value, form = call.arguments
    if not form.foldable:
        raise non_foldable_argument(call.name, "format", "INT")
    constant = form.value if isinstance(form, Literal) else None
    match str(constant).lower():
        case "base64" | "hex" as function:
            return resolve_like(call, function, value)
        case "utf-8":
            return resolve_like(call, "decode", value, lit("UTF-8"))
    raise AnalysisError.of(
        "INVALID_PARAMETER_VALUE.BINARY_FORMAT",
        parameter=to_sql_id("format"),
        functionName=to_sql_id(call.name),
        invalidFormat=f"'{constant}'",
    )


def _number_type(call: Call) -> DataType:
    pattern = call.arguments[1]
    text = str(pattern.value) if isinstance(pattern, Literal) else ""
    whole, _, fraction = text.upper().replace("D", ".").partition(".")
    scale = sum(c in "09" for c in fraction)
    return DecimalType(max(sum(c in "09" for c in whole) + scale, 1), scale)


# ------------------------------------------------------------------------------------------ URLs


def _parse_url(name: str, fails: str) -> FunctionSpec:
    takes = "!string, !string, [!string]"
    parsed = taking(takes)

    def check(call: Call, conf: Conf) -> Expression:
        # Messages name parse_url for both.
        parsed(replace(call, name="parse_url"), conf)
        return parsed(call, conf)

    def build(call: Call) -> Expression:
        ansi = str(call.ansi).lower() if fails == "{ansi}" else "false"
        known = [str(a.value) if isinstance(a, Literal) else "null" for a in call.arguments[1:]]
        # The evaluator holds what is constant: url, part, key.
        part, key, *_ = (*known, "null")
        target = f"ParseUrlEvaluator(null,{part},{key},{ansi}).evaluate"
        return like_call(call, "invoke", *call.arguments, options=(name, target, "{args}"))

    return scalar(
        name,
        takes,
        STRING,
        check=check,
        nullable=always_null,
        replacement=build,
        text="parse_url({args}, {ansi})" if name == "parse_url" else None,
        sql="{name}({args})",
    )


register(
    # Encodings.
    invoked(
        "base64",
        "binary",
        STRING,
        "Base64.encode",
        "{0}, true",
        nullable=null_if_any,
        evaluate=in_base64,
    ),
    scalar("unbase64", "string", BINARY, text=_unhex_text, sql=_unhex_sql),
    *each(
        scalar("hex", "bigint|binary|string", STRING, evaluate=_hex),
        scalar(
            "unhex",
            "string",
            BINARY,
            text=_unhex_text,
            sql=_unhex_sql,
            nullable=always_null,
            evaluate=unhex,
        ),
        scalar("bin", "bigint", STRING, evaluate=lambda call, n: format(n % 2**64, "b")),
        pushed_into_branches=True,
    ),
    scalar(
        "conv",
        "string, int, int",
        STRING,
        text="conv({args}, {ansi})",
        nullable=always_null,
        constant_number=True,
    ),
    invoked(
        "encode",
        "string, string",
        BINARY,
        "Encode.encode",
        "{args}, false, false",
        evaluate=encoded,
    ),
    FunctionSpec(
        name="decode",
        data_type=lambda call: STRING if len(call.arguments) == 2 else call.arguments[2].data_type,
        nullable=lambda call: (
            null_if_any(call) if len(call.arguments) == 2 else _decode(call).nullable
        ),
        check=_check_decode,
        sql=template("decode({args})"),
        replacement=_decode,
    ),
    *named(scalar("to_char", "any, any", STRING, check=_to_char), "to_varchar"),
    scalar("to_number", "string, string", _number_type, then=_constant_format),
    scalar(
        "try_to_number", "string, string", _number_type, then=_constant_format, nullable=always_null
    ),
    invoked("is_valid_utf8", "string", BOOLEAN, "{0}.isValid", "", kind="invoke"),
    # URLs.
    invoked("url_encode", "string", STRING, "UrlCodec.encode", evaluate=for_url),
    invoked(
        "url_decode", "string", STRING, "UrlCodec.decode", "{0}, true", text="url_decode({0}, true)"
    ),
    invoked("try_url_decode", "string", STRING, "UrlCodec.decode", "{0}, false"),
    _parse_url("parse_url", "{ansi}"),
    _parse_url("try_parse_url", "false"),
)
