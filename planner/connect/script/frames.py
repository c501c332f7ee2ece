"""What DataFrames have on a cluster, and on Databricks, besides what the client gives them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkAttributeError, PySparkException
from pyspark.sql import types as sql_types
from pyspark.sql.connect.dataframe import DataFrame

from .endings import ends_without
from .program import Program
from .stand_ins import NoRows, StandIn

Method = Callable[..., Any]


def change_frames(program: Program) -> None:
    """Change DataFrames and the schemas that they give.

    Args:
        program: the file, which may end for want of rows.
    """
    frame: Any = DataFrame
    frame.__getattribute__ = _with_java(frame.__getattribute__)
    frame.__getattr__ = _with_open_columns(frame.__getattr__)
    _without_rows(frame, program)
    _with_open_schema(frame, sql_types.StructType)


def _with_java(looked_up: Method) -> Method:
    def look_up(self: Any, name: str) -> Any:
        if name in ("rdd", "_jdf"):
            return StandIn(f"DataFrame.{name}")
        return looked_up(self, name)

    return look_up


def _with_open_columns(attribute: Method) -> Method:
    def column(self: Any, name: str) -> Any:
        try:
            return attribute(self, name)
        except PySparkAttributeError:
            if not name.startswith("_") and _has_column(self, name):
                return self[name]
            raise

    return column


def _without_rows(frame: Any, program: Program) -> None:
    """No query runs, so there are no rows; a file that would end for that goes on."""
    collected, headed = frame.collect, frame.head

    def collect(self: Any) -> Any:
        return collected(self) or NoRows()

    def head(self: Any, *arguments: Any, **named: Any) -> Any:
        found = headed(self, *arguments, **named)
        if found is None and ends_without(program.own_frame(sys._getframe(1))):
            return StandIn("head()")
        return NoRows() if found == [] else found

    def first(self: Any) -> Any:
        return head(self)

    frame.collect, frame.first, frame.head = collect, first, head


def _with_open_schema(frame: Any, kind: Any) -> None:
    """A schema knows its DataFrame: an open one has the column if it is asked for it."""
    schema, item = frame.schema, kind.__getitem__

    def of_frame(self: Any) -> Any:
        found = schema.fget(self)
        found.of_frame = self
        return found

    def field(self: Any, key: Any) -> Any:
        of = self.__dict__.get("of_frame")
        lacks = of is not None and isinstance(key, str) and key not in self.names
        if lacks and _has_column(of, key):
            return schema.fget(of.select(key)).fields[0]
        return item(self, key)

    frame.schema = property(of_frame)
    kind.__getitem__ = field


def _has_column(frame: Any, name: str) -> bool:
    """Whether a DataFrame has a column, or gets it: one of an open schema has what is used."""
    try:
        return bool(frame.select(name).columns)
    except PySparkException as error:
        error.expected = True  # type: ignore[attr-defined]
        return False
