"""from_avro, from_protobuf and their inverses: values as messages of Kafka hold them.

Spark finds what computes them in packages of their own, spark-avro and spark-protobuf. The text in
plans is that of their expressions AvroDataToCatalyst, CatalystDataToAvro, ProtobufDataToCatalyst
and CatalystDataToProtobuf.
"""

from __future__ import annotations

from ..errors import AnalysisError
from ..expressions.core import Call, Expression, Literal
from ..options import by_lower_name
from ..registry import Show, null_if_any, register
from ..schemas.avro import avro_type
from ..schemas.open_schemas import open_schema
from ..schemas.types import BINARY, DataType, as_nullable
from ..settings.conf import Conf
from ..text.literal_sql import sql_string
from ..tree import replace
from .hashes import map_options
from .mismatch import require_count, type_mismatch, wrong_argument_count
from .shapes import always_null, check_types, option_type, scalar

Options = tuple[tuple[str, str], ...]


def _constant(call: Call, position: int, what: str) -> str:
    argument = call.arguments[position]
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        return argument.value
    if isinstance(argument, Literal) and argument.value is None:
        return ""
    raise type_mismatch(
        "TYPE_CHECK_FAILURE_WITH_HINT",
        call,
        msg=f"The second argument of the {call.name.upper()} SQL function must be a constant string"
        f" {what}",
        hint_="",
    )


def _given(call: Call, position: int) -> Options:
    """The options that stand at a place, if any do."""
    if len(call.arguments) <= position:
        return ()
    argument = call.arguments[position]
    return () if isinstance(argument, Literal) and argument.value is None else map_options(argument)


def _check_from_avro(call: Call, conf: Conf) -> Expression:
    require_count(call, 2, 3)
    schema = _constant(
        call,
        1,
        "containing the JSON representation of the schema to use for converting the value from"
        " AVRO format",
    )
    options = _given(call, 2)
    named = by_lower_name(dict(options))
    found: DataType | None = open_schema(schema)
    if found is None:
        found = avro_type(named.get("avroschema", schema), named)
    if named.get("mode", "").upper() == "PERMISSIVE":
        found = as_nullable(found)
    short = replace(call, arguments=call.arguments[:1], options=(found, schema, options))
    return check_types(short, ["binary"], conf)


def _check_to(call: Call, conf: Conf) -> Expression:
    least, most = (1, 2) if call.name == "to_avro" else (2, 4)
    if not least <= len(call.arguments) <= most:
        raise wrong_argument_count(call.name, f"[{least}, {most}]", len(call.arguments))
    given = len(call.arguments) > 1
    schema = _constant(call, 1, "of the schema or the message") if given else ""
    return replace(call, arguments=call.arguments[:1], options=(BINARY, schema, ()))


def _check_from_protobuf(call: Call, conf: Conf) -> Expression:
    if not 2 <= len(call.arguments) <= 4:
        raise wrong_argument_count(call.name, "[2, 4]", len(call.arguments))
    message = _constant(call, 1, "of the message")
    found = open_schema(f"?{message.strip('?')}?")
    if found is None:
        raise AnalysisError.of("STATEPLAN_UNKNOWN_MESSAGE", name=message)
    short = replace(call, arguments=call.arguments[:1], options=(found, message, ()))
    return check_types(short, ["binary"], conf)


def _text(call: Call, show: Show) -> str:
    if not call.options:
        return f"{call.name}({', '.join(map(show, call.arguments))})"
    _, schema, options = call.options
    pairs = options if isinstance(options, tuple) else ()
    parts = [show(call.arguments[0]), *([str(schema)] if schema else [])]
    parts += [f"({key},{value})" for key, value in pairs]
    return f"{call.name}({', '.join(parts)})"


def _sql(call: Call, show: Show) -> str:
    _, schema, options = call.options
    given = [sql_string(str(schema))] if schema else []
    pairs = options if isinstance(options, tuple) else ()
    if pairs:
        given.append(f"map({', '.join(sql_string(text) for pair in pairs for text in pair)})")
    return f"{call.name}({', '.join((show(call.arguments[0]), *given))})"


register(
    *(
        scalar(
            name,
            takes,
            option_type,
            check=check,
            nullable=nullable,
            text=_text,
            pretty="{name}({0})",
            sql=_sql,
            options_hold="type and values",
        )
        for name, takes, check, nullable in (
            ("from_avro", "binary, any, [any]", _check_from_avro, always_null),
            ("to_avro", "any, [any]", _check_to, null_if_any),
            ("from_protobuf", "binary, any, [any], [any]", _check_from_protobuf, always_null),
            ("to_protobuf", "any, any, [any], [any]", _check_to, null_if_any),
        )
    )
)
