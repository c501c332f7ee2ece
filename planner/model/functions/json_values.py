"""Values of functions over constant JSON, for constant folding.

Each takes the call and its argument's plain value and gives Spark's value. A ValueError,
LookupError or ArithmeticError says that the value is not known here. JSON beyond the standard
(single quotes, comments) and times in it are left out.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal

from ..expressions.core import Call
from ..schemas.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    IntegralType,
    MapType,
    StringType,
    StructField,
    StructType,
)

_STEP = re.compile(r"\.([^.\[*']+)|\[(\d+)\]|\['([^'*]+)'\]")
_LIMITS = {"ByteType": 7, "ShortType": 15, "IntegerType": 31, "LongType": 63}


class _Mismatch(Exception):
    """A JSON value that has not the type wanted."""


def from_json(call: Call, text: str) -> object:
    """A struct, array or map; what cannot be read is null, in a struct its fields."""
    schema, *more = call.options
    if not isinstance(schema, DataType) or any(more):
        raise ValueError(call.options)
    if not text.strip():
        return None
    nothing = (None,) * len(schema.fields) if isinstance(schema, StructType) else None
    try:
        found = _loaded(text)
        return nothing if found is None else _typed(found, schema)
    except (_Mismatch, json.JSONDecodeError):
        return nothing


def _loaded(text: str) -> object:
    return json.loads(text, parse_float=Decimal)


def _typed(value: object, target: DataType) -> object:
    if value is None:
        return None
    match target, value:
        case StructType(fields=fields), dict():
            return tuple(_field(value.get(f.name), f.data_type) for f in fields)
        case ArrayType(element_type=element), list():
            return tuple(_typed(item, element) for item in value)
        case MapType(key_type=StringType(), value_type=inner), dict():
            return tuple((key, _typed(item, inner)) for key, item in value.items())
        case BooleanType(), bool():
            return value
        case IntegralType(), int() if not isinstance(value, bool):
            if abs(value) >> _LIMITS[target.catalyst]:
                raise _Mismatch
            return value
        case DoubleType(), int() | Decimal() if not isinstance(value, bool):
            return float(value)
        case StringType(), str():
            return value
        case StringType(), bool() | int():
            return str(value).lower()
        case StringType() | DoubleType() | StructType() | ArrayType() | MapType(), _:
            if isinstance(target, StringType):
                raise ValueError(value)  # the text as it was written
            raise _Mismatch
        case BooleanType() | IntegralType(), _:
            raise _Mismatch
        case _:
            raise ValueError(target)


def _field(value: object, target: DataType) -> object:
    """A field that does not fit is null, the others stay."""
    try:
        return _typed(value, target)
    except _Mismatch:
        return None


def to_json(call: Call, value: object) -> str:
    """A struct, an array or a map as JSON, without options."""
    if call.options:
        raise ValueError(call.options)
    return json.dumps(
        _plain(value, call.arguments[0].data_type), separators=(",", ":"), ensure_ascii=False
    )


def _plain(value: object, source: DataType) -> object:
    match source, value:
        case _, None:
            return None
        case StructType(fields=fields), tuple():
            pairs = zip(fields, value, strict=True)
            return {f.name: _plain(item, f.data_type) for f, item in pairs if item is not None}
        case ArrayType(element_type=element), tuple():
            return [_plain(item, element) for item in value]
        case MapType(key_type=StringType(), value_type=inner), tuple():
            return {key: _plain(item, inner) for key, item in value}
        case StringType() | BooleanType() | IntegralType(), _:
            return value
        case _:
            raise ValueError(source)


def get_json_object(call: Call, text: str, path: str) -> str | None:
    """What stands at a path; null where nothing does."""
    if not path.startswith("$") or _STEP.sub("", path[1:]):
        raise ValueError(path)
    try:
        found = _loaded(text)
    except json.JSONDecodeError:
        return None
    for name, index, quoted in _STEP.findall(path[1:]):
        if index and isinstance(found, list) and int(index) < len(found):
            found = found[int(index)]
        elif not index and isinstance(found, dict):
            found = found.get(name or quoted)
        else:
            return None
    if isinstance(found, bool):
        return str(found).lower()
    if found is None or isinstance(found, str):
        return found
    if isinstance(found, int):
        return str(found)
    raise ValueError(text)  # shown as it was written


def array_length(call: Call, text: str) -> int | None:
    """`json_array_length`: null for what is no array."""
    try:
        found = _loaded(text)
    except json.JSONDecodeError:
        return None
    return len(found) if isinstance(found, list) else None


def object_keys(call: Call, text: str) -> tuple[str, ...] | None:
    """`json_object_keys`: null for what is no object."""
    try:
        found = _loaded(text)
    except json.JSONDecodeError:
        return None
    return tuple(found) if isinstance(found, dict) else None


def schema_of_json(call: Call, text: str) -> str:
    """The type of a JSON text, as SQL."""
    return _inferred(_loaded(text)).sql


def _inferred(value: object) -> DataType:
    match value:
        case bool():
            return BOOLEAN
        case int():
            digits = len(str(abs(value)))
            return LONG if not abs(value) >> 63 else DecimalType(digits, 0)
        case Decimal():
            return DOUBLE
        case dict():
            known = sorted(name for name, inner in value.items() if inner != {})
            return StructType(tuple(StructField(n, _inferred(value[n]), True) for n in known))
        case list():
            kinds = {_inferred(item) for item in value}
            if len(kinds) > 1:
                raise ValueError(value)  # to be merged
            return ArrayType(kinds.pop() if kinds else STRING, True)
        case _:
            return STRING
