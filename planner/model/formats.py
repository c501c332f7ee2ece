"""Formats of sources, and the columns of those that always have the same."""

from __future__ import annotations

from collections.abc import Mapping

from .registered import SOURCES, data_source_schema, registered_class
from .schemas.ddl import parse_schema
from .schemas.types import (
    BINARY,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    MapType,
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
_KINESIS = _columns(
    partitionKey=STRING,
    data=BINARY,
    stream=STRING,
    shardId=STRING,
    sequenceNumber=STRING,
    approximateArrivalTimestamp=TIMESTAMP,
)
_TEXTS = MapType(STRING, STRING)
_EVENT_HUBS = _columns(
    body=BINARY,
    partition=STRING,
    offset=STRING,
    sequenceNumber=LONG,
    enqueuedTime=TIMESTAMP,
    publisher=STRING,
    partitionKey=STRING,
    properties=_TEXTS,
    systemProperties=_TEXTS,
)
_PUBSUB = _columns(
    messageId=STRING, payload=BINARY, attributes=STRING, publishTimestampInMillis=LONG
)
_PULSAR = _columns(
    value=BINARY,
    __key=BINARY,
    __topic=STRING,
    __messageId=BINARY,
    __publishTime=TIMESTAMP,
    __eventTime=TIMESTAMP,
    __messageProperties=_TEXTS,
)
_METADATA = (
    StructField("file_path", STRING, False),
    StructField("file_name", STRING, False),
    StructField("file_size", LONG, False),
    StructField("file_block_start", LONG, False),
    StructField("file_block_length", LONG, False),
    StructField("file_modification_time", TIMESTAMP, False),
)
_BINARY_FILE = _columns(path=STRING, modificationTime=TIMESTAMP, length=LONG, content=BINARY)
_HEADERS = ArrayType(_columns(key=STRING, value=BINARY))


def metadata_type(format_: str) -> StructType | None:
    """The type of the hidden column `_metadata`, which only files have."""
    if format_ not in (*FILE_FORMATS, "delta", "cloudfiles"):
        return None
    row = [StructField("row_index", LONG, False)] if format_ == "parquet" else []
    return StructType((*_METADATA, *row))


def fixed_schema(format_: str, options: Mapping[str, str]) -> StructType | None:
    """The columns of text, rate, socket and message sources; None where they are the data's own.

    Args:
        format_: the source's name, in lower case.
        options: the reader's (`includeTimestamp` of a socket, `includeHeaders` of Kafka).
    """
    given = {key.lower(): value.lower() for key, value in options.items()}
    match format_:
        case "text":
            return _TEXT
        case "binaryfile":
            return _BINARY_FILE
        case "rate" | "rate-micro-batch":
            return _RATE
        case "socket" | "textsocket":
            if given.get("includetimestamp") == "true":
                return _columns(value=STRING, timestamp=TIMESTAMP)
            return _TEXT
        case "kafka":
            if given.get("includeheaders") == "true":
                return StructType((*_KAFKA.fields, StructField("headers", _HEADERS)))
            return _KAFKA
        case "kinesis" | "aws-kinesis":
            return _KINESIS
        case "eventhubs" | "org.apache.spark.sql.eventhubs":
            return _EVENT_HUBS
        case "pubsub":
            return _PUBSUB
        case "pulsar":
            return _PULSAR
        case "cloudfiles":
            return _auto_loader(options)
        case "delta" | "memory":
            return None
    return None if format_ in FILE_FORMATS else _registered(format_, options)


def _registered(format_: str, options: Mapping[str, str]) -> StructType | None:
    """The columns that a source of a user's package says it has."""
    kind = registered_class(SOURCES, format_)
    if kind is None:
        return None
    if hasattr(kind, "fixed_schema"):
        columns: StructType | None = kind.fixed_schema(options)
        return columns
    return data_source_schema(kind(options=dict(options)))  # of PySpark's


def _auto_loader(options: Mapping[str, str]) -> StructType | None:
    """Auto Loader's columns are the data's own, or those that its hints say."""
    given = {key.lower(): value for key, value in options.items()}
    if given.get("cloudfiles.format", "").lower() == "text":
        return _TEXT
    if given.get("cloudfiles.format", "").lower() == "binaryfile":
        return _BINARY_FILE
    hints = given.get("cloudfiles.schemahints")
    return None if hints is None else parse_schema(hints)
