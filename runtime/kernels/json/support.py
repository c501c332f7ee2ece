"""Which JSON files can be read without Spark: decided from the schema and the reader's options."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ....planner.model.options import by_lower_name
from ....planner.model.schemas.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from .time_patterns import unsupported_pattern

_TYPES = {
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    StringType,
    BinaryType,
    DateType,
    TimestampType,
    TimestampNTZType,
}
_CORRUPT = "columnnameofcorruptrecord"
FORMATS = ("timestampformat", "timestampntzformat", "dateformat")
"""The options that are patterns of java.time."""
_MODES = ("PERMISSIVE", "FAILFAST", "DROPMALFORMED")
_DEFAULTS = {
    "multiline": ("false", "true"),
    "primitivesasstring": ("false",),
    "prefersdecimal": ("false", "true"),  # of schema inference
    "dropfieldifallnull": ("false", "true"),  # of schema inference
    "allowcomments": ("false",),
    "allowunquotedfieldnames": ("false",),
    "allowsinglequotes": ("true",),
    "allownumericleadingzeros": ("false",),
    "allowbackslashescapinganycharacter": ("false",),
    "allowunquotedcontrolchars": ("false",),
    "allownonnumericnumbers": ("true",),
    "encoding": ("utf-8", "utf8"),
    "charset": ("utf-8", "utf8"),
    "locale": ("en-us",),
}
"""Options in lower case, and their values with which files are read here."""


def corrupt_column(options: Mapping[str, str]) -> str:
    """The name of the column into which Spark puts the text of malformed lines."""
    given = (value for name, value in options.items() if name.lower() == _CORRUPT)
    return next(given, "_corrupt_record")


def unsupported(schema: StructType, options: Mapping[str, str]) -> str | None:
    """Why JSON files cannot be read here as Spark reads them; None: they can.

    Args:
        schema: the columns that Spark reads, given by the user.
        options: those of the reader that say how a file is read, without the file source's own.
    """
    for name, value in options.items():
        if name.lower() == _CORRUPT:
            continue
        if name.lower() in FORMATS:
            if unsupported_format(name, value):
                return f"the option '{name}' is '{value}'"
            continue
        if name.lower() == "linesep" and len(value) == 1 and value.isascii():
            continue
        if name.lower() == "mode":
            accepted: tuple[str, ...] = tuple(mode.lower() for mode in _MODES)
        else:
            accepted = _DEFAULTS.get(name.lower(), ())
        if value.lower() not in accepted:
            return f"the option '{name}' is '{value}'"
    given = by_lower_name(options)
    if given.get("multiline", "").lower() == "true" and given.keys() & {"encoding", "charset"}:
        return "an encoding is given with 'multiLine'"  # a byte order mark is a letter then
    if not schema.fields:
        return "no column is read"
    corrupt = corrupt_column(options)
    for field in schema.fields:
        if field.name == corrupt and type(field.data_type) is not StringType:
            return f"the column '{corrupt}' takes malformed lines, and is no STRING"
    return _unsupported_type(schema)


def unsupported_format(name: str, pattern: str) -> bool:
    """Whether a reader's option is a pattern of which it is not certain what it matches."""
    offset = "X" in pattern and name.lower() != "timestampformat"
    return unsupported_pattern(pattern) or offset


def formats_in(options: Mapping[str, str]) -> tuple[str | None, ...]:
    """The patterns that options give, in the order of FORMATS."""
    lower = {name.lower(): value for name, value in options.items()}
    return tuple(lower.get(name) for name in FORMATS)


def keeps_null(options: Mapping[str, str]) -> bool | None:
    """Whether `to_json` shows fields that are null; None: there are options not known here."""
    lower = {name.lower(): value.lower() for name, value in options.items()}
    ignores = lower.pop("ignorenullfields", "true")
    return None if lower or ignores not in ("true", "false") else ignores == "false"


def _unsupported_type(data_type: DataType) -> str | None:
    match data_type:
        case StructType(fields=fields):
            names = [field.name for field in fields]
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                return f"the field '{repeated[0]}' stands twice in the schema"
            if not fields:
                return "a struct has no fields"
            found = (_unsupported_type(field.data_type) for field in fields)
            return next((reason for reason in found if reason is not None), None)
        case ArrayType(element_type=element):
            return _unsupported_type(element)
        case MapType(key_type=key, value_type=value):
            if type(key) is not StringType:
                return f"a map has keys of type {key.sql}"
            return _unsupported_type(value)
    return None if type(data_type) in _TYPES else f"a value has the type {data_type.sql}"


_STEP = re.compile(r"\.([^.\[*'\"\s]+)|\['([^'*\[\]?]+)'\]|\[([0-9]{1,9})\]")


def path_steps(path: object) -> tuple[str | int, ...] | None:
    """The names and indexes in a path of get_json_object such as `$.a[0].b`.

    None: it has other steps, or begins with an index.
    """
    if not isinstance(path, str) or not path.startswith(("$.", "$['")) or _STEP.sub("", path[1:]):
        return None
    return tuple(
        int(index) if index else name or quoted for name, quoted, index in _STEP.findall(path)
    )


def is_written(data_type: DataType) -> bool:
    """Whether `to_json` writes values of a type here."""
    match data_type:
        case StructType(fields=fields):
            return bool(fields) and all(is_written(field.data_type) for field in fields)
        case ArrayType(element_type=element):
            return is_written(element)
        case MapType(key_type=key, value_type=value):
            return type(key) is StringType and is_written(value)
    return type(data_type) in _TYPES
