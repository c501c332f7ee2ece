"""Formats whose columns are always the same."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.types import (
    BINARY,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    StructField,
    StructType,
)

FILE_FORMATS = ("json", "parquet", "csv", "orc", "text", "avro", "xml", "binaryfile")


def _columns(**types: DataType) -> StructType:
    return StructType(tuple(StructField(name, type_) for name, type_ in types.items()))


_TEXT = _columns(value=STRING)
_RATE = _columns(timestamp=TIMESTAMP, value=LONG)
_KAFKA = _columns(
    key=BINARY,
    value=BINARY,
    topic=STRING,
    partition=INT,
    offset=LONG,
    timestamp=TIMESTAMP,
    timestampType=INT,
)
_HEADERS = ArrayType(_columns(key=STRING, value=BINARY))


def fixed_schema(format_: str, options: Mapping[str, str]) -> StructType | None:
    """The columns of text, rate, socket and Kafka sources; None where they are the data's own.

    Args:
        format_: the source's name, in lower case.
        options: the reader's (`includeTimestamp` of a socket, `includeHeaders` of Kafka).
    """
    given = {key.lower(): value.lower() for key, value in options.items()}
    match format_:
        case "text":
            return _TEXT
        case "rate" | "rate-micro-batch":
            return _RATE
        case "socket":
            if given.get("includetimestamp") == "true":
                return _columns(value=STRING, timestamp=TIMESTAMP)
            return _TEXT
        case "kafka":
            if given.get("includeheaders") == "true":
                return StructType((*_KAFKA.fields, StructField("headers", _HEADERS)))
            return _KAFKA
    return None
