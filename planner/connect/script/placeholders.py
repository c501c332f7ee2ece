"""Stand-ins where PySpark needs a type, a column, rows, another DataFrame or a choice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyspark.sql import types as sql_types
from pyspark.sql.connect import functions as connect_functions
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.session import SparkSession as ConnectSession
from pyspark.sql.connect.streaming import readwriter
from pyspark.sql.connect.streaming.query import StreamingQuery

from .models import unknown_column
from .rules import Rules
from .stand_ins import StandIn


def take_stand_ins() -> None:
    """A stand-in where a type, a column or a condition is needed."""
    for name, places in (("StructField", (1,)), ("ArrayType", (0,)), ("MapType", (0, 1))):
        kind: Any = getattr(sql_types, name)
        kind.__init__ = _with_types(kind.__init__, places)
    _in_columns()
    _in_frames()
    _in_streams()


def _in_columns() -> None:
    functions: Any = connect_functions
    frame: Any = DataFrame
    literal, made_struct = functions.lit, functions.struct
    with_column, with_columns, filtered = frame.withColumn, frame.withColumns, frame.filter

    def struct(*columns: Any) -> Any:
        # Of all columns of what nobody has described.
        if not columns or (isinstance(columns[0], list) and not columns[0]):
            return unknown_column("?struct()?")
        return made_struct(*columns)

    def column(name: str, value: Any) -> Any:
        # It may be a text, or a struct as the code uses it.
        return unknown_column(str(value))[name] if isinstance(value, StandIn) else value

    def with_one(self: Any, name: str, value: Any) -> Any:
        return with_column(self, name, column(name, value))

    def with_many(self: Any, values: dict[str, Any]) -> Any:
        return with_columns(self, {name: column(name, value) for name, value in values.items()})

    def filter_(self: Any, condition: Any) -> Any:
        if isinstance(condition, StandIn):
            condition = literal(str(condition)).cast("boolean")
        return filtered(self, condition)

    functions.struct = struct
    frame.withColumn, frame.withColumns = with_one, with_many
    frame.filter = frame.where = filter_


def _in_frames() -> None:
    frame: Any = DataFrame
    sessions: Any = ConnectSession
    watermarked, created = frame.withWatermark, sessions.createDataFrame

    def with_watermark(self: Any, *texts: Any, **named: Any) -> Any:
        plain = {name: str(text) for name, text in named.items()}
        return watermarked(self, *map(str, texts), **plain)

    def create(self: Any, data: Any, schema: Any = None, *arguments: Any, **named: Any) -> Any:
        # Plans depend on the columns alone; where those are names, their types are the rows'.
        given = data
        if schema is not None and _has_stand_in(data):
            only_names = isinstance(schema, list | tuple) and not isinstance(data, StandIn)
            given = [_as_texts(row) for row in data] if only_names else []
        if schema is None and isinstance(data, StandIn | list) and not len(data):
            # Rows that are not here have the columns that the code uses.
            return self.read.format(StandIn("createDataFrame")).load()
        return created(self, given, schema, *arguments, **named)

    frame.withWatermark, sessions.createDataFrame = with_watermark, create
    for name in ("join", "crossJoin", "union", "unionAll", "unionByName"):
        setattr(frame, name, _with_frame(getattr(frame, name)))


def _in_streams() -> None:
    writer: Any = readwriter.DataStreamWriter
    query: Any = StreamingQuery
    with_mode, triggered, awaited = writer.outputMode, writer.trigger, query.awaitTermination

    def output_mode(self: Any, mode: Any) -> Any:
        if not isinstance(mode, StandIn):
            return with_mode(self, mode)
        Rules.seen(mode._stand_in, "outputMode")
        return self

    def trigger(self: Any, *arguments: Any, **named: Any) -> Any:
        if arguments:
            return triggered(self, *arguments, **named)  # which takes none
        flags = ("availableNow", "once")
        here = {name: value for name, value in named.items() if value is not None}
        if len(here) > 1 and any(isinstance(value, StandIn) for value in here.values()):
            # The code hands on what it was given: at most one of them is there.
            first = min(here, key=lambda name: isinstance(here[name], StandIn))
            here = {first: here[first]}
        here = {
            name: True if name in flags and isinstance(value, StandIn) else value
            for name, value in here.items()
        }
        # `**settings.TRIGGER` hands in nothing.
        return triggered(self, **here) if here or not Rules.any_stand_in else self

    def await_termination(self: Any, timeout: Any = None) -> Any:
        return awaited(self, 1 if isinstance(timeout, StandIn) else timeout)

    writer.outputMode, writer.trigger = output_mode, trigger
    query.awaitTermination = await_termination


def _as_texts(row: Any) -> Any:
    """A row whose values that are not here are texts."""
    if not isinstance(row, list | tuple):
        return row
    return [str(one) if isinstance(one, StandIn) else one for one in row]


def _has_stand_in(value: Any) -> bool:
    """Whether something that is not there is among rows, or in one."""
    if isinstance(value, dict):
        return any(map(_has_stand_in, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_stand_in, value))
    return isinstance(value, StandIn)


def _with_frame(method: Callable[..., Any]) -> Callable[..., Any]:
    """A DataFrame's method that takes a stand-in for another one: a table at rest to be joined."""

    @functools.wraps(method)
    def called(self: Any, other: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(other, StandIn) and Rules.frame is not None:
            streaming = method.__name__.startswith("union") and self.isStreaming
            other = Rules.frame(other._stand_in, streaming)
        return method(self, other, *arguments, **named)

    return called


def _with_types(made: Callable[..., None], places: tuple[int, ...]) -> Callable[..., None]:
    """A type's constructor that takes a stand-in for a type as a string's."""

    def make(self: Any, *arguments: Any, **named: Any) -> None:
        chosen = [
            sql_types.StringType() if i in places and isinstance(value, StandIn) else value
            for i, value in enumerate(arguments)
        ]
        made(self, *chosen, **named)

    return make
