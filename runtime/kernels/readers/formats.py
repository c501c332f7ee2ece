"""The formats of files that our own code reads, instead of an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from ....planner.model.schemas.types import StructType
from .. import json_support
from ..json_files import read_json
from ..json_filters import PushedFilter
from . import csv_options, orc_files
from .csv_files import read_csv


class FileReader(Protocol):
    """Reads files of a format as Spark does, and no others.

    Attributes:
        alone: whether no engine is asked for the files that are not read here: they are refused.
    """

    alone: bool

    def unsupported(self, schema: StructType, options: Mapping[str, str]) -> str | None:
        """Why files cannot be read here as Spark reads them; None: they can.

        Args:
            schema: all columns, given by the user.
            options: those that say how a file is read, without the file source's own.
        """

    def read(
        self,
        path: str,
        schema: Any,
        columns: Sequence[int],
        options: Mapping[str, str],
        time_zone: str,
        filters: Sequence[PushedFilter],
    ) -> Iterator[Any]:
        """The rows of a file.

        Args:
            path: the file.
            schema: all columns, a `pyarrow.Schema` of the types of arrow_types.py.
            columns: the places of those that the query needs, in order.
            options: as `unsupported` accepts them.
            time_zone: the session's.
            filters: the conditions that Spark's reader is given, over the needed columns. They
                stay to be fulfilled.

        Yields:
            Record batches of the needed columns.

        Raises:
            KernelError: what Spark makes of the file is not known here (`STATEPLAN_NOT_EXACT`), or
                it is an error.
        """


class _Json:
    """Lines of JSON: a reader that never asks for the columns that it does not read."""

    alone = False

    def unsupported(self, schema: StructType, options: Mapping[str, str]) -> str | None:
        return json_support.unsupported(schema, options)

    def read(
        self,
        path: str,
        schema: Any,
        columns: Sequence[int],
        options: Mapping[str, str],
        time_zone: str,
        filters: Sequence[PushedFilter],
    ) -> Iterator[Any]:
        needed = pa.schema([schema.field(place) for place in columns])
        return read_json(path, needed, options, time_zone, filters)


class _Csv:
    alone = True

    def unsupported(self, schema: StructType, options: Mapping[str, str]) -> str | None:
        return csv_options.unsupported(schema, options)

    def read(
        self,
        path: str,
        schema: Any,
        columns: Sequence[int],
        options: Mapping[str, str],
        time_zone: str,
        filters: Sequence[PushedFilter],
    ) -> Iterator[Any]:
        return read_csv(path, schema, columns, options, time_zone, filters)


class _Orc:
    alone = True

    def unsupported(self, schema: StructType, options: Mapping[str, str]) -> str | None:
        return orc_files.unsupported(schema, options)

    def read(
        self,
        path: str,
        schema: Any,
        columns: Sequence[int],
        options: Mapping[str, str],
        time_zone: str,
        filters: Sequence[PushedFilter],
    ) -> Iterator[Any]:
        return orc_files.read_orc(path, schema, columns)


FILE_READERS: Mapping[str, FileReader] = {"json": _Json(), "csv": _Csv(), "orc": _Orc()}
"""By the format's name in Spark."""
