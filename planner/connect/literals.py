"""Constants: protobuf literals to ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from ..model.expressions.core import Literal, Origin
from ..model.schemas import types as model
from ..model.schemas.types import ArrayType, DataType, DecimalType, MapType, StructType
from .failures import unsupported
from .places import Message
from .types import SIMPLE, from_proto

_TYPES: dict[str, DataType] = {
    **SIMPLE,
    "year_month_interval": model.YearMonthIntervalType(),
    "day_time_interval": model.DayTimeIntervalType(),
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
    value = getattr(message, kind)
    plain: object = value
    match kind:
        case "null":
            plain, type_ = None, from_proto(value)
        case "decimal":
            plain = Decimal(value.value)
            type_ = _decimal_type(plain)
        case "calendar_interval":
            plain, type_ = (value.months, value.days, value.microseconds), model.CALENDAR_INTERVAL
        case "array":
            items = _literals(value.elements)
            plain = _values(items)
            type_ = declared or ArrayType(_type_in(value, "element_type", items))
        case "specialized_array":
            which = value.WhichOneof("value_type")
            plain = tuple(getattr(value, which).values)
            type_ = declared or ArrayType(_TYPES[which], False)
        case "map":
            keys, values = _literals(value.keys), _literals(value.values)
            plain = tuple(zip(_values(keys), _values(values), strict=True))
            type_ = declared or MapType(
                _type_in(value, "key_type", keys), _type_in(value, "value_type", values)
            )
        case "struct":
            plain = _values(_literals(value.elements))
            type_ = declared or from_proto(value.struct_type)
            assert isinstance(type_, StructType)
        case _ if kind in _TYPES:
            plain = bytes(value) if kind == "binary" else value
            type_ = declared or _TYPES[kind]
        case _:
            raise unsupported(f"A literal of the kind {kind}", origin)
    return Literal(value=plain, type_=type_, origin=origin)


def _literals(messages: Iterable[Message]) -> tuple[Literal, ...]:
    return tuple(map(literal_of, messages))


def _values(literals: Iterable[Literal]) -> tuple[object, ...]:
    return tuple(literal.value for literal in literals)


def _type_in(value: Message, field: str, items: Sequence[Literal]) -> DataType:
    """The type of an array's or a map's items: as a field has it, or else the first item's own."""
    if value.HasField(field):
        return from_proto(getattr(value, field))
    return items[0].data_type if items else model.NULL


def _decimal_type(number: Decimal) -> DecimalType:
    """The number's own type: the one that the client sends is (10, 0) for any number."""
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # NaN and infinity are no decimals
    scale = max(-exponent, 0)
    return DecimalType(max(len(number.as_tuple().digits) + max(exponent, 0), scale), scale)
