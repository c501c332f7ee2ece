"""Types out of Spark's schema JSON."""

from __future__ import annotations

from typing import Any

from .ddl import collated, parse_type
from .types import (
    BYTE,
    COLLATIONS,
    INT,
    LONG,
    NULL,
    SHORT,
    TIMESTAMP,
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
)

_JSON_NAMES: dict[str, DataType] = {
    "void": NULL,
    "byte": BYTE,
    "short": SHORT,
    "integer": INT,
    "long": LONG,
    "timestamp_ltz": TIMESTAMP,
}


class UnknownType(ValueError):
    """JSON of a type that is not known here; the text is its name."""


def type_from_json(value: Any) -> DataType:
    """The type of Spark's schema JSON, as `json.loads` gives it.

    Raises:
        UnknownType: it is none that is known here.
    """
    if isinstance(value, str):
        return _JSON_NAMES[value] if value in _JSON_NAMES else parse_type(value)
    match value.get("type"):
        case "struct":
            return StructType(tuple(map(_field_from_json, value["fields"])))
        case "array":
            return ArrayType(type_from_json(value["elementType"]), value["containsNull"])
        case "map":
            key, item = type_from_json(value["keyType"]), type_from_json(value["valueType"])
            return MapType(key, item, value["valueContainsNull"])
        case "udt":
            return type_from_json(value["sqlType"])
    raise UnknownType(str(value.get("type")))


def _field_from_json(value: Any) -> StructField:
    data_type = type_from_json(value["type"])
    collations = value.get("metadata", {}).get(COLLATIONS)
    if collations:
        data_type = _collated(data_type, value["name"], collations)
    return StructField(value["name"], data_type, value.get("nullable", True))


def _collated(data_type: DataType, place: str, collations: dict[str, str]) -> DataType:
    """The type with the collations that a field's metadata gives the strings at places in it."""
    match data_type:
        case StringType() if place in collations:
            return collated(collations[place].rpartition(".")[2])
        case ArrayType(element_type=element, contains_null=null):
            return ArrayType(_collated(element, f"{place}.element", collations), null)
        case MapType(key_type=key, value_type=item, value_contains_null=null):
            key = _collated(key, f"{place}.key", collations)
            return MapType(key, _collated(item, f"{place}.value", collations), null)
        case _:
            return data_type
