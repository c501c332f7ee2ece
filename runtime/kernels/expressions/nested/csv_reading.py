"""`from_csv`: texts as structs, as UnivocityParser reads them in PERMISSIVE mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.texts import bytes_of, concatenated
from ...errors import unread_text
from ...json.errors import Uncertain
from ...json.time_columns import UncertainValue
from ...readers.csv_division import Division
from ...readers.csv_lines import CsvBlock
from ...readers.csv_options import csv_options
from ...readers.csv_values import converter
from ..programs.program import Step
from ..values.vectors import plain, shown_type

_ENDS = ("\n", "\x1e", "\x1d")
"""What may stand between the texts; to Spark an end of a line within one is like any letter."""
_END_TO_SPARK = "\uffff"


def from_csv(step: Step, text: Any) -> Any:
    """Structs of texts: null for null; one without a value, or with a bad one, has nulls.

    The step's options are the reader's options, how many fields a record has, and the places of
    those that are read.

    Raises:
        KernelError: a text of which it is not known what Spark makes of it
            (`STATEPLAN_NOT_EXACT`).
    """
    given, expected, places = cast("tuple[Any, Any, Any]", step.options)
    wanted = shown_type(step.kind)
    records, end = _together(text)
    options = replace(csv_options(dict(given)), line_sep=end)
    block = CsvBlock(records, 0, options, blank=True)
    try:
        texts, _ = Division(options, expected, places).texts(block)
        columns = [
            converter(field.type, options, step.zone or "UTC")(column)[0]
            for field, column in zip(wanted, texts, strict=True)
        ]
    except UncertainValue as error:
        raise unread_text("from_csv", error.error) from None
    if block.rows < len(text):  # empty texts and comments are no records
        at = np.zeros(len(text), np.int64)
        at[block.places] = np.arange(block.rows)
        none = np.ones(len(text), np.bool_)
        none[block.places] = False
        columns = [column.take(pa.array(at, mask=none)) for column in columns]
    mask = text.is_null() if text.null_count else None
    return plain(pa.StructArray.from_arrays(columns, fields=list(wanted), mask=mask), step.kind)


def _together(texts: Any) -> tuple[bytes, bytes]:
    """The texts one behind the other, and what stands behind each: a letter that none has."""
    filled = pc.fill_null(texts, "")
    letters = bytes_of(filled)[0].tobytes()
    end = next((end for end in _ENDS if end.encode() not in letters), None)
    if end is None or _END_TO_SPARK.encode() in letters:
        raise unread_text("from_csv", Uncertain("such an end of a line"))
    return bytes_of(concatenated(filled, end))[0].tobytes(), end.encode()
