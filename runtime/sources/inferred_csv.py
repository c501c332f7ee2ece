"""The columns of CSV files whose schema nobody gives: what Spark's CSVInferSchema finds."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...planner.model.errors import RuntimeFailure
from ...planner.model.functions.coercion import wider_without_strings
from ...planner.model.schemas.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from ...planner.model.settings.conf import Conf
from ..kernels.errors import NOT_EXACT
from ..kernels.json.errors import Uncertain
from ..kernels.json.time_columns import UncertainValue
from ..kernels.readers.csv_lines import CsvBlock
from ..kernels.readers.csv_options import CsvOptions
from ..kernels.readers.csv_records import record_blocks
from ..kernels.readers.csv_tokens import Tokenizer
from ..kernels.readers.csv_values import converter

_DAY = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-]0[0-9]:[0-5][0-9])?"
_PLAIN: Mapping[DataType, str] = {
    INT: r"^[+-]?[0-9]{1,9}$",
    LONG: r"^[+-]?[0-9]{1,18}$",
    DOUBLE: r"^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?$",
    DATE: f"^{_DAY}$",
    TIMESTAMP: f"^{_DAY}([ T]{_TIME})?$",
    BOOLEAN: "^(true|false)$",
    STRING: "",
}
"""Texts that surely are of a type, and no others need be looked at one by one."""
_DIGIT = re.compile("[0-9]")
_WHOLE = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?\d+\.?")
_DOUBLE = re.compile(
    r"[\0- ]*[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|0[xX][0-9a-fA-F]+\.?[pP]"
    r"[+-]?\d+)[fFdD]?)[\0- ]*"
)
_CHAIN = (INT, LONG, DecimalType(), DOUBLE, DATE, TIMESTAMP, BOOLEAN)
"""In this order Spark tries the types."""
_CONF = Conf()


def first_values(paths: Sequence[str], options: CsvOptions) -> list[str]:
    """The values of the first line that is no comment; none if there is no line.

    Raises:
        RuntimeFailure: it is not known here how Spark parts the first line.
    """
    try:
        line = next(_first_records(paths, options), None)
        if line is None:
            return []
        found = Tokenizer(options, None).tokens(line, first=True, split=False)
    except Uncertain:
        raise RuntimeFailure(
            NOT_EXACT,
            f"It is not known how Spark parts the first line of '{paths[0]}'.",
            hint="Give the schema of the files, or run the query on Spark: --engine spark.",
        ) from None
    return [token or "" for token in found]


def column_names(tokens: Sequence[str], options: CsvOptions, case_sensitive: bool) -> list[str]:
    """The names of the columns by the values of the first line; or `_c0`, `_c1`."""
    if not options.header:
        return [f"_c{place}" for place in range(len(tokens))]
    folded = tokens if case_sensitive else [token.lower() for token in tokens]
    times = Counter(folded)
    return [
        f"_c{place}"
        if token in ("", options.null_value)
        else f"{token}{place}"
        if times[key] > 1
        else token
        for place, (token, key) in enumerate(zip(tokens, folded, strict=True))
    ]


def _first_records(paths: Sequence[str], options: CsvOptions) -> Iterator[str]:
    for path in paths:
        for data in record_blocks(path, options):
            block = CsvBlock(data, 1, options)
            if block.odd_line() is not None:
                raise Uncertain("a quote within a value")
            if block.rows:
                yield block.text(0)


def without_lines(table: Any, values: Sequence[str], options: CsvOptions) -> Any:
    """The rows of an Arrow table of texts but for those that are equal to the header.

    Where another file has another header, Spark takes that for a row as it looks for types.
    """
    same = None
    for column, value in zip(table.columns, values, strict=True):
        wanted = "" if value == options.null_value else value
        equal = pc.equal(pc.fill_null(column, ""), wanted)
        same = equal if same is None else pc.and_(same, equal)
    return table if same is None else table.filter(pc.invert(same))


def inferred_from_texts(table: Any, options: CsvOptions, zone: str) -> StructType:
    """The columns' types, of their values as texts.

    Args:
        table: an Arrow table of strings, in the order of the files.
        options: of the reader.
        zone: the session's time zone.
    """
    infer = _Inference(options, zone)
    return StructType(
        tuple(
            StructField(name, infer.column(table.column(place)))
            for place, name in enumerate(table.column_names)
        )
    )


class _Inference:
    def __init__(self, options: CsvOptions, zone: str) -> None:
        self._options = options
        self._date = converter(pa.date32(), options, zone)
        self._time = converter(pa.timestamp("us", "UTC"), options, zone)
        self._specials = (options.nan, options.infinity, options.minus_infinity)

    def column(self, texts: Any) -> DataType:
        """The type of a column: each value may change what those before it were."""
        values = pc.unique(texts.combine_chunks() if texts.num_chunks != 1 else texts.chunk(0))
        values = values.filter(pc.not_equal(values, ""))
        found: DataType = NULL
        while len(values):
            plain = self._plain(found)
            if plain is not None:
                sure = pc.match_substring_regex(values, plain)
                values = values.take(pc.indices_nonzero(pc.invert(sure)))
            now, looked_at = found, 0
            for value in values.to_pylist():
                found = self._with(found, value)
                looked_at += 1
                if found != now:
                    break
            values = values[looked_at:]
        return STRING if found == NULL else found

    def _plain(self, kind: DataType) -> str | None:
        if kind == DATE and self._options.date_format is not None:
            return None
        if kind == TIMESTAMP and self._options.timestamp_format is not None:
            return None
        return _PLAIN.get(kind)

    def _with(self, so_far: DataType, text: str) -> DataType:
        """CSVInferSchema.inferField: the type of what was so far, and of one more value."""
        start = 0
        if so_far != NULL:
            if so_far == STRING:
                return STRING
            start = next(i for i, kind in enumerate(_CHAIN) if type(kind) is type(so_far))
        for kind in _CHAIN[start:]:
            found = self._as(kind, text)
            if found is not None:
                return wider_without_strings(so_far, found, _CONF) or STRING
        return STRING

    def _as(self, kind: DataType, text: str) -> DataType | None:
        match kind:
            case _ if kind in (INT, LONG):
                bits = 31 if kind == INT else 63
                whole = _WHOLE.fullmatch(text)
                return kind if whole and -(1 << bits) <= int(text) < 1 << bits else None
            case DecimalType():
                if not _DECIMAL.fullmatch(text):
                    return None
                digits = len(str(abs(int(text.rstrip(".")))))
                return DecimalType(digits, 0) if digits <= DecimalType.MAX_PRECISION else None
            case _ if kind == DOUBLE:
                return kind if _DOUBLE.fullmatch(text) or text in self._specials else None
            case _ if kind == DATE:
                return kind if self._is_date(text) else None
            case _ if kind == TIMESTAMP:
                written = self._options.timestamp_format is not None or _DIGIT.search(text)
                return kind if written and _read(self._time, text) else None
        return kind if text.lower() in ("true", "false") else None

    def _is_date(self, text: str) -> bool:
        if self._options.date_format is not None:
            return _read(self._date, text)
        try:
            return len(text) == len("2024-01-01") and dt.date.fromisoformat(text) is not None
        except ValueError:
            return False


def _read(convert: Callable[[Any], Any], text: str) -> bool:
    try:
        values, _ = convert(pa.array([text]))
    except UncertainValue:
        raise RuntimeFailure(
            NOT_EXACT,
            f"It is not known whether Spark takes '{text}' for a date or a time.",
            hint="Give the schema of the files, or run the query on Spark: --engine spark.",
        ) from None
    return not values.null_count
