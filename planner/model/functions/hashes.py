"""Hashes and checksums; JSON and CSV read and written."""

from __future__ import annotations

import hashlib
import json
import zlib
from contextlib import suppress
from typing import Any

from ..errors import AnalysisError
from ..expressions.core import Call, Expression, Literal
from ..expressions.evaluation import evaluate
from ..registry import Show, register
from ..schemas.ddl import parse_schema, parse_type
from ..schemas.schema_json import type_from_json
from ..schemas.types import (
    INT,
    LONG,
    STRING,
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructType,
    as_nullable,
    contains_type,
)
from ..settings.conf import Conf
from ..text.fields_shown import cut_arguments
from ..text.literal_sql import sql_string
from ..text.quoting import to_sql_expr, to_sql_type
from ..tree import replace
from .json_values import (
    array_length,
    from_json,
    get_json_object,
    object_keys,
    schema_of_json,
    to_json,
)
from .mismatch import (
    function_mismatch,
    non_foldable,
    require_count,
    type_mismatch,
    wrong_argument_count,
)
from .shapes import (
    always_null,
    check_types,
    each,
    invoked,
    like_call,
    named,
    never_null,
    option_type,
    scalar,
)

# --------------------------------------------------------------------------------------- hashes


def _check_hash(call: Call, conf: Conf) -> Expression:
    if not call.arguments:
        raise wrong_argument_count(call.name, "> 0", 0, placeless=True)
    allowed = conf.flag("spark.sql.legacy.allowHashOnMapType")
    if not allowed and any(contains_type(a.data_type, MapType) for a in call.arguments):
        raise function_mismatch("HASH_MAP_TYPE", call)
    return call


def _sha2_value(call: Call, value: bytes, bits: int) -> object:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return None if name is None else hashlib.new(name, value).hexdigest()


# ----------------------------------------------------------------------------------------- JSON


def read_schema(schema: Expression) -> DataType:
    """The type that a constant schema argument says, as DDL, as JSON or as `schema_of_json(...)`.

    Raises:
        AnalysisError: it is no constant, or no schema.
    """
    if isinstance(schema, Call) and schema.name == "schema_of_json":
        schema = evaluate(schema) or schema
    if isinstance(schema, Literal) and isinstance(schema.value, str):
        text = schema.value
        if not text.strip():
            raise AnalysisError.of("PARSE_EMPTY_STATEMENT")
        if text.lstrip().startswith("{"):
            with suppress(ValueError, KeyError, TypeError):
                return type_from_json(json.loads(text))
        try:
            return parse_schema(text)
        except AnalysisError:
            return _read_type(text)
    raise AnalysisError.of("INVALID_SCHEMA.NON_STRING_LITERAL", inputSchema=to_sql_expr(schema))


def _read_type(text: str) -> DataType:
    """A type from DDL; an error names no place in the text."""
    try:
        return parse_type(text)
    except AnalysisError as error:
        error.message = error.message.split(" (line ", 1)[0]
        raise


def map_options(expression: Expression) -> tuple[tuple[str, str], ...]:
    """The options of a `map('key', 'value', ...)`.

    Raises:
        AnalysisError: INVALID_OPTIONS: no such call, or one of something else than strings.
    """
    if isinstance(expression, Call) and expression.name == "map":
        kind = expression.data_type
        if isinstance(kind, MapType) and not (
            isinstance(kind.key_type, StringType) and isinstance(kind.value_type, StringType)
        ):
            raise AnalysisError.of("INVALID_OPTIONS.NON_STRING_TYPE", mapType=to_sql_type(kind))
        values = [str(a.value) if isinstance(a, Literal) else "" for a in expression.arguments]
        return tuple(zip(values[::2], values[1::2], strict=True))
    raise AnalysisError.of("INVALID_OPTIONS.NON_MAP_FUNCTION")


def _check_schema_of(call: Call, conf: Conf) -> Expression:
    """schema_of_json of a constant; its options leave the arguments."""
    require_count(call, 1, 2)
    extra = map_options(call.arguments[1]) if len(call.arguments) == 2 else ()
    short = replace(call, arguments=call.arguments[:1], options=(extra,) if extra else ())
    value = short.arguments[0]
    if not value.foldable:
        raise non_foldable(short, "json", value.data_type.sql, value)
    return check_types(short, ["!string"], conf)


def _check_from(call: Call, conf: Conf) -> Expression:
    """from_json and from_csv: schema and options leave the arguments and become options.

    The schema is kept as written: plans show its NOT NULL, though every part of the result may be
    null. Where only a field of from_csv's is read, the schema is that field's, and the whole one
    comes last.
    """
    require_count(call, 2, 3)
    schema = read_schema(call.arguments[1])
    extra = map_options(call.arguments[2]) if len(call.arguments) == 3 else ()
    short = replace(call, arguments=call.arguments[:1], options=(schema, extra))
    return check_types(short, ["!string"], conf)


def _field_texts(struct: StructType) -> list[str]:
    return [
        f"StructField({f.name},{scala_type(f.data_type)},{str(f.nullable).lower()})"
        for f in struct.fields
    ]


def scala_type(data_type: DataType) -> str:
    """A type as Scala's toString has it: `ArrayType(IntegerType,true)`."""
    match data_type:
        case StructType():
            return f"StructType({','.join(_field_texts(data_type))})"
        case ArrayType(element_type=element, contains_null=nulls):
            return f"ArrayType({scala_type(element)},{str(nulls).lower()})"
        case MapType(key_type=key, value_type=value, value_contains_null=nulls):
            return f"MapType({scala_type(key)},{scala_type(value)},{str(nulls).lower()})"
        case _:
            return data_type.catalyst


def _pairs(call: Call) -> tuple[tuple[str, str], ...]:
    return next((option for option in call.options if isinstance(option, tuple)), ())


def _from_text(call: Call, show: Show) -> str:
    if not call.options:
        return f"{call.name}({', '.join(map(show, call.arguments))})"
    schema, last = whole_schema(call), "false"
    if call.name == "from_csv":
        last = "None" if schema is option_type(call) else f"Some({scala_type(option_type(call))})"
    # A struct's fields are arguments of the text, each of its own.
    kinds = _field_texts(schema) if isinstance(schema, StructType) else [scala_type(schema)]
    pairs = (f"({k},{v})" for k, v in _pairs(call))
    rest = (show(call.arguments[0]), f"Some({call.time_zone})", last)
    return f"{call.name}({cut_arguments([*kinds, *pairs, *rest])})"


def _options_sql(call: Call) -> str:
    if not _pairs(call):
        return ""
    pairs = ", ".join(f"{sql_string(k)}, {sql_string(v)}" for k, v in _pairs(call))
    return f", map({pairs})"


def _schema_of(call: Call) -> DataType:
    return as_nullable(option_type(call))


def whole_schema(call: Call) -> DataType:
    """The schema as it was given, where fewer fields are read, too."""
    whole = call.options[-1]
    return whole if isinstance(whole, DataType) else option_type(call)


def _from_sql(call: Call, show: Show) -> str:
    from ..text.spark_sql import type_sql

    schema = sql_string(type_sql(as_nullable(whole_schema(call))))
    return f"{call.name}({show(call.arguments[0])}, {schema}{_options_sql(call)})"


def _from_name(call: Call, show: Show) -> str:
    if isinstance(call.options[0], MapType):
        return "entries"  # so Spark calls what is read as a map
    return f"{call.name}({show(call.arguments[0])})"


def _check_to(call: Call, conf: Conf) -> Expression:
    require_count(call, 1, 2)
    extra = map_options(call.arguments[1]) if len(call.arguments) == 2 else ()
    kind = call.arguments[0].data_type
    nested = StructType | ArrayType | MapType if call.name == "to_json" else StructType
    if not isinstance(kind, nested):
        if call.name == "to_csv":
            raise function_mismatch("UNSUPPORTED_INPUT_TYPE", call, dataType=to_sql_type(kind))
        raise type_mismatch("INVALID_JSON_SCHEMA", call, schema=to_sql_type(kind))
    return replace(call, arguments=call.arguments[:1], options=(extra,) if extra else ())


def _to_text(call: Call, show: Show) -> str:
    parts = [*(f"({k},{v})" for k, v in _pairs(call)), show(call.arguments[0])]
    return f"{call.name}({', '.join(parts)}, Some({call.time_zone}))"


def _to_json(call: Call) -> Expression:
    pairs = ", ".join(f"{k} -> {v}" for k, v in _pairs(call))
    kind = scala_type(call.arguments[0].data_type)
    zone = f"Some({call.time_zone})"
    target = f"StructsToJsonEvaluator(Map({pairs}),{kind},{zone}).evaluate"
    options = ("to_json", target, "{args}", *call.options)
    return like_call(call, "invoke", *call.arguments, options=options)


_READERS: dict[str, dict[str, Any]] = {
    "from_json": {"codegen": False, "nullable": always_null, "evaluate": from_json},
    "from_csv": {},
}
_WRITERS: dict[str, dict[str, Any]] = {
    "to_json": {"replacement": _to_json, "evaluate": to_json},
    "to_csv": {},
}

register(
    *(
        scalar(
            name,
            "any...",
            result,
            check=_check_hash,
            nullable=never_null,
            text="{name}({args}, 42)",
            treats_alike=True,
            constant_text="data",
            reads_clock="never",
            by_width=True,
        )
        for name, result in (("hash", INT), ("xxhash64", LONG))
    ),
    scalar("crc32", "binary", LONG, evaluate=lambda call, b: zlib.crc32(b)),
    scalar("md5", "binary", STRING, evaluate=lambda call, b: hashlib.md5(b).hexdigest()),
    *named(
        scalar("sha1", "binary", STRING, evaluate=lambda call, b: hashlib.sha1(b).hexdigest()),
        "sha",
    ),
    scalar(
        "sha2",
        "binary, int",
        STRING,
        nullable=always_null,
        evaluate=_sha2_value,
        constant_number=True,
    ),
    scalar(
        "get_json_object",
        "!string, !string",
        STRING,
        nullable=always_null,
        null_for_null=True,
        evaluate=get_json_object,
    ),
    scalar(
        "schema_of_json", "!string, [any]", STRING, check=_check_schema_of, evaluate=schema_of_json
    ),
    *each(
        *(
            scalar(
                name,
                "string, any, [any]",
                _schema_of,
                check=_check_from,
                text=_from_text,
                pretty=_from_name,
                sql=_from_sql,
                options_hold="type and values",
                **fields,
            )
            for name, fields in _READERS.items()
        ),
        *(
            scalar(
                name,
                "any, [any]",
                STRING,
                check=_check_to,
                text=_to_text,
                pretty="{name}({0})",
                sql=lambda call, show: (
                    f"{call.name}({show(call.arguments[0])}{_options_sql(call)})"
                ),
                nullable=always_null,
                **fields,
            )
            for name, fields in _WRITERS.items()
        ),
        reads_clock="always",
    ),
    invoked(
        "json_array_length",
        "!string",
        INT,
        "JsonExpressionUtils.lengthOfJsonArray",
        evaluate=array_length,
    ),
    invoked(
        "json_object_keys",
        "!string",
        ArrayType(STRING, True),
        "JsonExpressionUtils.jsonObjectKeys",
        evaluate=object_keys,
    ),
)
