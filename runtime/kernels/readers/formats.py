"""The formats of files that our own code reads, instead of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ....planner.model.schemas.types import StructType
from ..file_parts import WHOLE, FilePart
from ..json.files import read_json
from ..json.filters import PushedFilter
from ..json.support import unsupported as unsupported_json
from . import csv_options, orc_files, text_files
from .csv_files import read_csv
from .line_files import parts_of


@dataclass(frozen=True, kw_only=True)
class FileScan:
    """What is read of a file.

    Attributes:
        path: the file.
        schema: all columns, a `pyarrow.Schema` of the types of arrow_types.py.
        columns: the places of those that the query needs, in order.
        options: as the format's `unsupported` accepts them.
        time_zone: the session's.
        filters: the conditions that Spark's reader is given, over the needed columns. They stay to
            be fulfilled.
        part: which lines, of a format whose files are read in parts.
    """

    path: str
    schema: Any
    columns: Sequence[int]
    options: Mapping[str, str]
    time_zone: str
    filters: Sequence[PushedFilter]
    part: FilePart = WHOLE


@dataclass(frozen=True)
class FileReader:
    """Reads files of a format as Spark does, and no others.

    Attributes:
        unsupported: why files of a schema that the user gives, with these options (those of the
            file source left out), cannot be read here as Spark reads them; None: they can.
        read: the needed columns of a file as record batches. Raises KernelError: what Spark makes
            of the file is not known here (`STATEPLAN_NOT_EXACT`), or it is an error.
        alone: whether no engine is asked for the files that are not read here: they are refused.
        parts: the parts in which several tasks may read a file.
    """

    unsupported: Callable[[StructType, Mapping[str, str]], str | None]
    read: Callable[[FileScan], Iterator[Any]]
    alone: bool = True
    parts: Callable[[str], Sequence[FilePart]] = lambda path: [WHOLE]


def _json(scan: FileScan) -> Iterator[Any]:
    # Spark's JSON reader never asks for the columns that it does not read.
    needed = pa.schema([scan.schema.field(place) for place in scan.columns])
    return read_json(scan.path, needed, scan.options, scan.time_zone, scan.filters, scan.part)


def _csv(scan: FileScan) -> Iterator[Any]:
    return read_csv(
        scan.path,
        scan.schema,
        scan.columns,
        scan.options,
        scan.time_zone,
        scan.filters,
        scan.part,
    )


def _orc(scan: FileScan) -> Iterator[Any]:
    return orc_files.read_orc(scan.path, scan.schema, scan.columns)


def _text(scan: FileScan) -> Iterator[Any]:
    return text_files.read_text(scan.path, scan.schema, scan.columns, scan.options, scan.part)


FILE_READERS: Mapping[str, FileReader] = {
    "json": FileReader(unsupported_json, _json, alone=False, parts=parts_of),
    "csv": FileReader(csv_options.unsupported, _csv, parts=parts_of),
    "orc": FileReader(orc_files.unsupported, _orc),
    "text": FileReader(text_files.unsupported, _text, parts=parts_of),
}
"""By the format's name in Spark."""
