"""What Spark's JSON reader skips: records that fail a condition on the columns read so far.

Spark hands conditions to its reader (`spark.sql.json.filterPushdown.enabled`). A record that fails
one as soon as its last column has been read is left out there and then: the rest of it may be
malformed, and of a field that stands twice the first value has decided. All other records the
filter above would leave out just as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from .errors import Partial, Uncertain
from .times import TimeTexts
from .values import read_otherwise, space, struct_reader

_IN_A_NUMBER_OR_WORD = re.compile(r"""[^"}\]][^ \t\n\r,}\]]""")
"""A value's last letter and the one behind it, if Jackson may find an error in the value."""


class Condition(Protocol):
    """Computes a condition."""

    def evaluate(self, batch: Any) -> list[Any]:
        """One boolean array over the rows of a record batch."""


@dataclass(frozen=True)
class PushedFilter:
    """A condition that Spark's reader is given.

    Attributes:
        columns: the places of the columns that it reads.
        evaluator: computes it over the columns of a record; None: it is not computed here.
    """

    columns: frozenset[int]
    evaluator: Condition | None


class SkippedRecords:
    """Tells which records Spark's reader skips.

    Args:
        fields: the Arrow fields of the columns.
        filters: the conditions.
        times: how strings are read as dates and times.

    Attributes:
        asked_twice: whether the last record, which is not skipped, has a value that a condition is
            put to once more: Spark's reader fails over it and takes the record for malformed.
    """

    asked_twice: bool

    def __init__(
        self, fields: Sequence[Any], filters: Sequence[PushedFilter], times: TimeTexts
    ) -> None:
        self._fields = list(fields)
        self._filters = filters
        self._missing: list[int] = []
        self._partial = Partial()
        self._read = struct_reader(self._fields, times, self._partial, self._passes)

    def skipped(self, text: str) -> bool:
        """Whether a line is left out.

        Raises:
            Uncertain: a condition is not computed here, or Spark may have put it to a value behind
                a syntax error.
        """
        self.asked_twice = False
        self._partial.reset()
        start = space(text, 0)
        if not text.startswith("{", start):
            return False  # the records of an array are not filtered
        self._missing = [len(one.columns) for one in self._filters]
        try:
            record, at = self._read(text, start)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Unterminated string") and (
                self._partial.broken_value or read_otherwise(text, error)
            ):
                raise Uncertain(f"a syntax error in column {error.pos + 1}") from None
            return False
        if record is None and _IN_A_NUMBER_OR_WORD.match(text, at - 1):
            raise Uncertain("an odd value, and a condition is put to it")
        return record is None

    def _passes(self, place: int, row: list[Any]) -> bool:
        for number, one in enumerate(self._filters):
            if place in one.columns:
                self._missing[number] -= 1
                if self._missing[number] < 0:
                    if (
                        len({other.columns for other in self._filters if place in other.columns})
                        > 1
                    ):
                        raise Uncertain("a name that stands twice, and conditions are put to it")
                    self.asked_twice = True
                    return True
                if self._missing[number] == 0 and not self._holds(one, row):
                    return False
        return True

    def _holds(self, one: PushedFilter, row: list[Any]) -> bool:
        if one.evaluator is None:
            raise Uncertain("an odd record, and a condition is put to its columns")
        arrays = [
            pa.array([value if place in one.columns else None], field.type)
            for place, (value, field) in enumerate(zip(row, self._fields, strict=True))
        ]
        (result,) = one.evaluator.evaluate(
            pa.RecordBatch.from_arrays(arrays, schema=pa.schema(self._fields))
        )
        return result[0].as_py() is True
