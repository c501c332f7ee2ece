"""JSON files as Arrow batches, exactly as Spark reads them with a given schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import KernelError
from ..file_parts import WHOLE, FilePart
from ..readers.line_files import BATCH
from .blocks import BlockReader
from .filters import PushedFilter
from .layout import Layout
from .lines import LineReader
from .support import corrupt_column
from .times import TimeTexts


def read_json(
    path: str,
    schema: Any,
    options: Mapping[str, str],
    time_zone: str,
    filters: Sequence[PushedFilter] = (),
    part: FilePart = WHOLE,
) -> Iterator[Any]:
    """Read a file of JSON lines, or a part of one; or a file that is one record.

    Args:
        path: the file, in UTF-8; compressed if its name says so.
        schema: the columns that Spark reads, a `pyarrow.Schema` of the types of arrow_types.py.
            Spark reads only those that the query needs: a malformed value of another is no error.
            The one for malformed lines takes the text of each, and is of no field in them.
        options: those that json/support.py accepts.
        time_zone: the session's.
        filters: the conditions that Spark's reader is given. They stay to be fulfilled: only the
            records are left out of which Spark does not read the end.
        part: which lines to read; a file that is one record belongs to its first part.

    Yields:
        Record batches of at most 65,536 rows, all columns nullable.

    Raises:
        KernelError: a line of which it is not known what Spark makes of it
            (`STATEPLAN_NOT_EXACT`), and a malformed one in FAILFAST mode; or the column for
            malformed lines is the only one (`QUERY_ONLY_CORRUPT_RECORD_COLUMN`).
    """
    corrupt = schema.get_field_index(corrupt_column(options))
    if corrupt >= 0 and len(schema) == 1:
        raise KernelError.of("UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN")
    mode = next((value for name, value in options.items() if name.lower() == "mode"), "PERMISSIVE")
    times = TimeTexts.of(time_zone, options)
    lines = LineReader(
        list(schema),
        mode.upper(),
        times,
        path,
        filters,
        start=part.start,
        corrupt=None if corrupt < 0 else corrupt,
    )
    reader = BlockReader(schema, lines, times)
    layout = Layout.of(options)
    for block in layout.blocks(path, part):
        if layout.in_lines:
            batches = reader.batches(block)
        else:
            batches = reader.one_by_one(layout.records(block))
        for batch in batches:
            for start in range(0, batch.num_rows, BATCH):
                yield batch.slice(start, BATCH)
