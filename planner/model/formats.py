"""Formats of sources, and the columns of those that always have the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .options import by_lower_name
from .registered import SOURCES, data_source_schema, registered_class
from .schemas.ddl import parse_schema
from .schemas.types import StructField, StructType

RUN_FORMATS = ("json", "parquet", "csv", "orc", "text", "avro")
"""The formats of files that the runtime reads and writes."""
FILE_FORMATS = (*RUN_FORMATS, "xml", "binaryfile")
"""All formats of files that a query may name."""
PACE = (
    *("maxfilespertrigger", "maxbytespertrigger", "latestfirst", "filenameonly", "maxfileage"),
    *("maxcachedfiles", "discardcachedinputratio", "cleansource", "sourcearchivedir"),
)
"""Options of streams of files that say when a file is read, not what it holds; in lower case."""
COLUMNAR_FORMATS = ("parquet", "orc")
"""Those whose readers read only the columns that a query needs."""

# The columns of sources whose rows are always alike, and what an option of theirs adds.
_COLUMNS = {
    "text": "value STRING",
    "binaryfile": "path STRING, modificationTime TIMESTAMP_LTZ, length LONG, content BINARY",
    "rate": "timestamp TIMESTAMP_LTZ, value LONG",
    "socket": "value STRING",
    "kafka": "key BINARY, value BINARY, topic STRING, partition INT, offset LONG,"
    " timestamp TIMESTAMP_LTZ, timestampType INT",
    "kinesis": "partitionKey STRING, data BINARY, stream STRING, shardId STRING,"
    " sequenceNumber STRING, approximateArrivalTimestamp TIMESTAMP_LTZ",
    "eventhubs": "body BINARY, partition STRING, offset STRING, sequenceNumber LONG,"
    " enqueuedTime TIMESTAMP_LTZ, publisher STRING, partitionKey STRING,"
    " properties MAP<STRING, STRING>, systemProperties MAP<STRING, STRING>",
    "pubsub": "messageId STRING, payload BINARY, attributes STRING, publishTimestampInMillis LONG",
    "pulsar": "value BINARY, __key BINARY, __topic STRING, __messageId BINARY,"
    " __publishTime TIMESTAMP_LTZ, __eventTime TIMESTAMP_LTZ,"
    " __messageProperties MAP<STRING, STRING>",
}
_ADDED = {
    "socket": ("includetimestamp", ", timestamp TIMESTAMP_LTZ"),
    "kafka": ("includeheaders", ", headers ARRAY<STRUCT<key: STRING, value: BINARY>>"),
}
_ALIASES = {
    "rate-micro-batch": "rate",
    "textsocket": "socket",
    "aws-kinesis": "kinesis",
    "org.apache.spark.sql.eventhubs": "eventhubs",
}
_METADATA = (
    "file_path STRING NOT NULL, file_name STRING NOT NULL, file_size LONG NOT NULL,"
    " file_block_start LONG NOT NULL, file_block_length LONG NOT NULL,"
    " file_modification_time TIMESTAMP_LTZ NOT NULL"
)


def metadata_type(format_: str) -> StructType | None:
    """The type of the hidden column `_metadata`, which only files have."""
    if format_ not in (*FILE_FORMATS, "delta", "cloudfiles"):
        return None
    row = ", row_index LONG NOT NULL" if format_ == "parquet" else ""
    return parse_schema(_METADATA + row)


def metadata_columns(fields: Iterable[StructField]) -> tuple[StructField, ...]:
    """Fields of `_metadata` as columns of their own, under names that no file is likely to have."""
    return tuple(replace(field, name=f"_metadata.{field.name}") for field in fields)


def fixed_schema(format_: str, options: Mapping[str, str]) -> StructType | None:
    """The columns of text, rate, socket and message sources; None where they are the data's own.

    Args:
        format_: the source's name, in lower case.
        options: the reader's (`includeTimestamp` of a socket, `includeHeaders` of Kafka).
    """
    given = by_lower_name(options)
    format_ = _ALIASES.get(format_, format_)
    if format_ == "cloudfiles":
        return _auto_loader(given)
    if format_ in _COLUMNS:
        option, added = _ADDED.get(format_, ("", ""))
        asked = given.get(option, "").lower() == "true"
        return parse_schema(_COLUMNS[format_] + (added if asked else ""))
    return None if format_ in (*FILE_FORMATS, "delta", "memory") else _registered(format_, options)


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
    format_ = options.get("cloudfiles.format", "").lower()
    if format_ in ("text", "binaryfile"):
        return parse_schema(_COLUMNS[format_])
    hints = options.get("cloudfiles.schemahints")
    return None if hints is None else parse_schema(hints)
