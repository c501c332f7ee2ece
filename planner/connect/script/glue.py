"""AWS Glue's library where it is not here: its streams are Spark's own below other names.

`create_data_frame.from_options` reads a stream, `forEachBatch` starts one, a DynamicFrame is a
DataFrame in another wrapping, `getResolvedOptions` reads the job's arguments. All else of the
library is a stand-in.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from pyspark.sql.connect.dataframe import DataFrame

from .context import session
from .stand_ins import OtherwiseStandIn, StandIn, lacking

_RESOLVED = "getResolvedOptions(sys.argv)"
_TRANSFORMS = (
    *("ApplyMapping", "DropFields", "DropNullFields", "FillMissingValues", "Filter", "FlatMap"),
    *("Join", "Map", "MapToCollection", "Relationalize", "RenameField", "ResolveChoice"),
    *("SelectFields", "SelectFromCollection", "Spigot", "SplitFields", "SplitRows", "Unbox"),
)
_STREAMS = ("kinesis", "kafka")
# Options by which a table of the catalog is read as the stream that it describes.
_OF_STREAMS = ("startingPosition", "startingOffsets", "inferSchema", "addIdleTimeBetweenReads")


class GlueContext(OtherwiseStandIn):
    """Glue's context, over the planner's session."""

    _path = "glueContext"

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.spark_session = session()

    @property
    def create_data_frame(self) -> GlueContext:
        """`create_data_frame.from_options` is `create_data_frame_from_options`."""
        return self

    def from_options(
        self,
        connection_type: str,
        connection_options: Mapping[str, Any] | None = None,
        *_: Any,
        **named: Any,
    ) -> Any:
        """A stream of Kinesis or Kafka, or files.

        A stream has Kafka's own columns, unless Glue reads the payload: then those of the `schema`
        that the options give, or those that the code uses.
        """
        given = dict(connection_options or {})
        if connection_type not in _STREAMS:
            return self.spark_session.read.format(connection_type).load(str(given.get("path", "")))
        reader = self.spark_session.readStream.format(connection_type)
        parsed = "classification" in given or given.get("inferSchema") == "true"
        if connection_type == "kinesis" or parsed or "schema" in given:
            named_by = given.get("streamName") or given.get("streamARN") or given.get("topicName")
            schema = given.get("schema") or StandIn(f"{connection_type} {named_by}")
            reader = reader.schema(str(schema))
        return reader.load()

    def from_catalog(
        self,
        database: str = "default",
        table_name: str = "",
        *_: Any,
        additional_options: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> Any:
        """A table of Glue's catalog: a stream where the options are a stream's."""
        streams = any(option in _OF_STREAMS for option in additional_options or {})
        reader = self.spark_session.readStream if streams else self.spark_session.read
        return reader.table(f"{database}.{table_name}")

    create_data_frame_from_options = from_options
    create_data_frame_from_catalog = from_catalog

    def forEachBatch(
        self,
        frame: Any,
        batch_function: Callable[..., Any],
        options: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> None:
        """Start a stream that hands its batches to a function."""
        window = (options or {}).get("windowSize", "100 seconds")
        frame.writeStream.foreachBatch(batch_function).trigger(processingTime=window).start()


class DynamicFrame(OtherwiseStandIn):
    """Glue's frame around a DataFrame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @classmethod
    def fromDF(cls, dataframe: Any, *arguments: Any, **named: Any) -> Any:
        """A DataFrame as Glue's."""
        return cls(dataframe) if isinstance(dataframe, DataFrame) else dataframe

    def toDF(self, *arguments: Any, **named: Any) -> Any:
        """The DataFrame."""
        return self._frame


class _Options(dict[str, Any]):
    """A job's arguments; one that is not given is a stand-in."""

    def __missing__(self, name: str) -> Any:
        return StandIn(f"{_RESOLVED}[{name!r}]")


def resolved_options(arguments: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """`getResolvedOptions(sys.argv, names)`: `--NAME VALUE` or `--NAME=VALUE` for each name."""
    found = _Options()
    for place, argument in enumerate(arguments):
        name, equals, value = argument.removeprefix("--").partition("=")
        if argument.startswith("--") and (equals or place + 1 < len(arguments)):
            found[name] = value if equals else arguments[place + 1]
    for name in names:
        found.setdefault(name, found[name])
    return found


def provide() -> None:
    """Let files import `awsglue`, unless there is such a library."""
    found = importlib.util.find_spec("awsglue")
    if found is not None and found.origin is not None:  # and no folder of that name
        return
    names: dict[str, dict[str, Any]] = {
        "awsglue": {"DynamicFrame": DynamicFrame},
        "awsglue.context": {"GlueContext": GlueContext},
        "awsglue.dynamicframe": {"DynamicFrame": DynamicFrame},
        "awsglue.utils": {"getResolvedOptions": resolved_options},
        "awsglue.transforms": {"__all__": _TRANSFORMS},
        **{f"awsglue.{name}": {} for name in ("job", "gluetypes", "functions")},
    }
    for name, values in names.items():
        module = ModuleType(name)
        module.__dict__.update({"__all__": [], **values}, __path__=[], __getattr__=lacking(name))
        sys.modules[name] = module
