"""Text files as Arrow batches of one column, exactly as Spark reads them.

Spark keeps the bytes of a line as they are, whatever their encoding; a string of Arrow's is UTF-8.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ....planner.model.options import by_lower_name
from ....planner.model.schemas.types import StringType, StructType
from ...state.rows import columns_of
from ..errors import KernelError, not_exact
from ..file_parts import WHOLE, FilePart
from .line_files import BATCH, blocks, content, lines_before


def unsupported(schema: StructType, options: Mapping[str, str]) -> str | None:
    """Why text files cannot be read here as Spark reads them; None: they can.

    Args:
        schema: all columns; those that are no strings are in the names of folders.
        options: those of the reader that say how a file is read, without the file source's own.
    """
    given = by_lower_name(options)
    separator, whole = given.get("linesep"), given.get("wholetext", "false").lower()
    if whole not in ("true", "false"):
        return f"the option 'wholetext' is '{given['wholetext']}'"
    if separator is not None:
        if len(separator) != 1 or not separator.isascii():
            return f"the option 'lineSep' is '{separator}'"
        encoded = given.get("encoding", "utf-8").lower() != "utf-8"
        for other, counts in (("wholetext", whole == "true"), ("encoding", encoded)):
            if counts:
                return f"both 'lineSep' and '{other}' are given"
    if not any(isinstance(field.data_type, StringType) for field in schema.fields):
        return "no column is a STRING"
    return None


def read_text(
    path: str,
    schema: Any,
    columns: Sequence[int],
    options: Mapping[str, str],
    part: FilePart = WHOLE,
) -> Iterator[Any]:
    """Read a text file, or a part of one.

    Args:
        path: the file; compressed if its name says so.
        schema: the file's one column, a `pyarrow.Schema`.
        columns: its place, or nothing where the lines are only counted.
        options: those that `unsupported` accepts.
        part: which lines to read. Of a file that is one text the first part has it.

    Yields:
        Record batches of at most 65,536 rows of the column, or of none.

    Raises:
        KernelError: a line is not UTF-8 (`STATEPLAN_NOT_EXACT`), or files are to have another
            number of columns.
    """
    if len(schema) != 1:
        raise KernelError.of("_LEGACY_ERROR_TEMP_1290", schemaSize=len(schema))
    given = by_lower_name(options)
    whole = given.get("wholetext", "false").lower() == "true"
    separator = given.get("linesep", "").encode() or None
    number = 1
    for texts in _whole(path, part) if whole else _lines(path, separator, part):
        try:
            if columns:
                texts.validate(full=True)
        except pa.ArrowInvalid:
            line = number + lines_before(path, part.start) + _first_invalid(texts)
            where = f"'{path}'" if whole else f"Line {line} of '{path}'"
            raise not_exact(
                f"{where} is no text in UTF-8 and is not read as Spark would here."
            ) from None
        number += len(texts)
        batch = columns_of([texts] if columns else [], schema, len(texts))
        for start in range(0, len(texts), BATCH):
            yield batch.slice(start, BATCH)


def _whole(path: str, part: FilePart) -> Iterator[Any]:
    if not part.start and os.path.getsize(path):  # Spark plans no empty file
        data = content(path)
        yield _texts(data, [0, len(data)])


def _lines(path: str, separator: bytes | None, part: FilePart) -> Iterator[Any]:
    end = separator or b"\n"
    for data in blocks(path, separator, part):
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == end[0])
        # Each line has lost its end, and those of all lines before it.
        offsets = np.concatenate([[0], ends - np.arange(len(ends))])
        yield _texts(data.replace(end, b""), offsets)


def _texts(data: bytes, offsets: Any) -> Any:
    ends = pa.py_buffer(np.asarray(offsets, np.int32))
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, [None, ends, pa.py_buffer(data)])


def _first_invalid(texts: Any) -> int:
    for place in range(len(texts)):
        try:
            texts.slice(place, 1).validate(full=True)
        except pa.ArrowInvalid:
            return place
    return 0
