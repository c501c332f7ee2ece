"""Constants: protobuf literals to ours."""

from __future__ import annotations

from decimal import Decimal

from ..model.expressions.core import Literal, Origin
from ..model.schemas import types as model
from ..model.schemas.types import ArrayType, DataType, DecimalType, MapType, StructType
from .failures import unsupported
from .places import Message
from .types import from_proto

_SIMPLE: dict[str, DataType] = {
    "binary": model.BINARY,
    "boolean": model.BOOLEAN,
    "byte": model.BYTE,
    "short": model.SHORT,
    "integer": model.INT,
    "long": model.LONG,
    "float": model.FLOAT,
    "double": model.DOUBLE,
    "string": model.STRING,
    "date": model.DATE,
    "timestamp": model.TIMESTAMP,
    "timestamp_ntz": model.TIMESTAMP_NTZ,
    "year_month_interval": model.YearMonthIntervalType(),
    "day_time_interval": model.DayTimeIntervalType(),
}
_ELEMENTS = {
    "bools": model.BOOLEAN,
    "ints": model.INT,
    "longs": model.LONG,
    "floats": model.FLOAT,
    "doubles": model.DOUBLE,
    "strings": model.STRING,
}


def literal_of(message: Message, origin: Origin | None = None) -> Literal:
    """Our literal for a `Literal` message: dates are days, timestamps microseconds since 1970.

    Raises:
        AnalysisError: a kind of literal that stateplan does not know.
    """
    kind = message.WhichOneof("literal_type")
    declared = from_proto(message.data_type) if message.HasField("data_type") else None
    if kind == "null":
        return Literal(value=None, type_=from_proto(message.null), origin=origin)
    value = getattr(message, kind)
    match kind:
        case _ if kind in _SIMPLE:
            plain = bytes(value) if kind == "binary" else value
            return Literal(value=plain, type_=declared or _SIMPLE[kind], origin=origin)
        case "decimal":
            return _decimal(value, origin)
        case "calendar_interval":
            amount = (value.months, value.days, value.microseconds)
            return Literal(value=amount, type_=model.CALENDAR_INTERVAL, origin=origin)
        case "array":
            items = tuple(literal_of(item) for item in value.elements)
            return _array(items, declared, value, origin)
        case "specialized_array":
            which = value.WhichOneof("value_type")
            plain = tuple(getattr(value, which).values)
            type_ = declared or ArrayType(_ELEMENTS[which], False)
            return Literal(value=plain, type_=type_, origin=origin)
        case "map":
            keys = tuple(literal_of(item) for item in value.keys)
            values = tuple(literal_of(item) for item in value.values)
            return _map(keys, values, declared, value, origin)
        case "struct":
            items = tuple(literal_of(item) for item in value.elements)
            type_ = declared or from_proto(value.struct_type)
            assert isinstance(type_, StructType)
            return Literal(value=tuple(i.value for i in items), type_=type_, origin=origin)
    raise unsupported(f"A literal of the kind {kind}", origin)


def _decimal(value: Message, origin: Origin | None) -> Literal:
    number = Decimal(value.value)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # NaN and infinity are no decimals
    # The type that the client sends is (10, 0) for any number: Spark takes the number's own.
    scale = max(-exponent, 0)
    precision = max(len(number.as_tuple().digits) + max(exponent, 0), scale)
    return Literal(value=number, type_=DecimalType(precision, scale), origin=origin)


def _array(
    items: tuple[Literal, ...], declared: DataType | None, value: Message, origin: Origin | None
) -> Literal:
    if declared is None and value.HasField("element_type"):
        declared = ArrayType(from_proto(value.element_type))
    if declared is None:
        declared = ArrayType(items[0].data_type if items else model.NULL)
    return Literal(value=tuple(i.value for i in items), type_=declared, origin=origin)


def _map(
    keys: tuple[Literal, ...],
    values: tuple[Literal, ...],
    declared: DataType | None,
    value: Message,
    origin: Origin | None,
) -> Literal:
    if declared is None and value.HasField("key_type"):
        declared = MapType(from_proto(value.key_type), from_proto(value.value_type))
    if declared is None:
        declared = MapType(
            keys[0].data_type if keys else model.NULL, values[0].data_type if values else model.NULL
        )
    pairs = tuple((k.value, v.value) for k, v in zip(keys, values, strict=True))
    return Literal(value=pairs, type_=declared, origin=origin)
