"""The console sink: each batch's first rows as a table, as Spark shows them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa

from ...planner.model.expressions.core import AttributeReference, Cast
from ...planner.model.schemas.types import (
    STRING,
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)
from ...planner.model.settings.conf import Conf
from ...planner.model.text.spark_sql import type_sql
from ..arrow_types import arrow_type, without_hidden
from ..frames import for_arrow
from ..kernels.expressions.evaluator import Evaluator
from ..kernels.expressions.programs.compile import compile_program
from ..plan.facts import EngineFacts
from .base import Sink, SinkRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NARROWEST = 3
"""Characters; no column of a table is narrower."""
_ESCAPES = str.maketrans(
    {
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\f": "\\f",
        "\b": "\\b",
        "\v": "\\v",
        "\a": "\\a",
    }
)
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]"
)
"""What takes the room of two characters."""


class ConsoleSink(Sink):
    """Prints each batch's first rows as a table.

    Args:
        rows: how many rows at most (option numRows).
        width: the longest value that is shown whole; None: all are (option truncate).
        out: where to print; standard output at the time of the batch.
    """

    one_action = True

    def __init__(self, rows: int = 20, width: int | None = 20, out: TextIO | None = None) -> None:
        self._rows = rows
        self._width = width
        self._out = out
        self._columns: list[_Column] = []

    @classmethod
    def create(cls, request: SinkRequest) -> ConsoleSink:
        options = request.options
        width: int | None = 20
        match options.get("truncate", "true").strip().lower():
            case "true":
                pass
            case "false" | "0":
                width = None
            case _:
                width = options.whole("truncate")
        return cls(options.whole("numRows", 20, least=0) or 0, width)

    @property
    def description(self) -> str:
        return "ConsoleTable"

    def check(self, schema: StructType, engine: EngineFacts, conf: Conf) -> None:
        self._columns = [_Column(field.data_type, conf.time_zone) for field in schema.fields]
        self.in_arrow = all(column.program is not None for column in self._columns)

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        names = frame.columns
        if not self.in_arrow:
            # Names may repeat: positions are safe to cast by.
            frame = frame.toDF(*(f"c{i}" for i in range(len(names))))
            frame = frame.selectExpr(*(c.selected(i) for i, c in enumerate(self._columns)))
        table = for_arrow(frame).toArrow()
        shown = table.slice(0, self._rows)
        columns = (
            column.texts(values.combine_chunks())
            for column, values in zip(self._columns, shown.columns, strict=True)
        )
        rows = list(zip(*columns, strict=True))
        out = self._out or sys.stdout
        line = "-" * 43
        print(f"{line}\nBatch: {batch_id}\n{line}", file=out)
        print(text_table(names, rows, self._width), file=out)
        if table.num_rows > self._rows:
            rest = "row" if self._rows == 1 else "rows"
            print(f"only showing top {self._rows} {rest}", file=out, flush=True)
        else:
            print(file=out, flush=True)
        return int(table.num_rows)


class _Column:
    """How values of a type are shown.

    Attributes:
        program: makes strings of all values in it but bytes and decimals; None: only an engine
            can cast it.
    """

    def __init__(self, data_type: DataType, time_zone: str) -> None:
        self._type = data_type
        self._shown = _with_texts(data_type)
        own = AttributeReference(name="value", type_=data_type)
        cast = Cast(child=own, type_=self._shown, time_zone=time_zone)
        program = None
        if not _repeats_names(data_type):
            wanted = own if self._shown == data_type else cast
            program = compile_program([wanted], [own], untouched=True)
        self.program = None if program is None else Evaluator(program)

    def selected(self, place: int) -> str:
        """What an engine is asked for."""
        own = f"c{place}"
        return (
            own if self.program is not None else f"CAST({own} AS {type_sql(self._shown)}) AS {own}"
        )

    def texts(self, values: Any) -> list[str]:
        """The text of each value."""
        if self.program is not None:
            kind = arrow_type(self._type)
            values = without_hidden(values if values.type == kind else values.cast(kind))
            (values,) = self.program.evaluate(pa.RecordBatch.from_arrays([values], ["value"]))
        return _texts(values)


def _with_texts(data_type: DataType) -> DataType:
    """A type with strings for all but bytes and decimals, which show otherwise than as strings.

    Fields are named by their places: names may repeat, and Arrow's must not.
    """
    match data_type:
        case ArrayType():
            return ArrayType(_with_texts(data_type.element_type))
        case MapType():
            return MapType(_with_texts(data_type.key_type), _with_texts(data_type.value_type))
        case StructType():
            kinds = (_with_texts(field.data_type) for field in data_type.fields)
            return StructType(tuple(StructField(f"f{i}", kind) for i, kind in enumerate(kinds)))
        case BinaryType() | DecimalType():
            return data_type
        case _:
            return STRING


def _repeats_names(data_type: DataType) -> bool:
    """Whether a struct has a name twice, as none may on its way to Arrow."""
    fields = data_type.fields if isinstance(data_type, StructType) else ()
    names = {field.name for field in fields}
    return len(names) < len(fields) or any(map(_repeats_names, data_type.parts))


def _texts(values: Any) -> list[str]:
    """Spark's `ToPrettyString` of values of such a type."""
    kind = values.type
    if pa.types.is_struct(kind):
        parts = [_texts(part) for part in values.flatten()]
        found = zip(*parts, strict=True) if parts else [()] * len(values)
        return [
            "{" + ", ".join(row) + "}" if value.is_valid else "NULL"
            for row, value in zip(found, values, strict=True)
        ]
    return [_text(value) if value.is_valid else "NULL" for value in values]


def _text(value: Any) -> str:
    if pa.types.is_map(value.type):
        keys, items = (_texts(value.values.field(i)) for i in range(2))
        entries = (f"{key} -> {item}" for key, item in zip(keys, items, strict=True))
        return "{" + ", ".join(entries) + "}"
    if pa.types.is_list(value.type):
        return "[" + ", ".join(_texts(value.values)) + "]"
    if pa.types.is_binary(value.type):
        return f"[{value.as_py().hex(' ').upper()}]"
    return f"{value.as_py():f}" if pa.types.is_decimal(value.type) else str(value.as_py())


def text_table(names: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> str:
    """A table as Spark's `show` draws it: cut values to the right, whole ones to the left."""
    head = [name.translate(_ESCAPES) for name in names]
    cells = [head, *([_cut(value.translate(_ESCAPES), width) for value in row] for row in rows)]
    widths = [max(_NARROWEST, *map(_room, column)) for column in zip(*cells, strict=True)]
    rule = "+" + "+".join("-" * w for w in widths) + "+"
    left = width is None
    lines = (
        "|" + "|".join(_padded(value, w, left) for value, w in zip(row, widths, strict=True)) + "|"
        for row in cells
    )
    first, *rest = lines
    return "\n".join([rule, first, rule, *rest, rule])


def _padded(value: str, room: int, left: bool) -> str:
    rest = " " * (room - _room(value))
    return value + rest if left else rest + value


def _room(value: str) -> int:
    """The room that a value takes, in characters of a Latin alphabet."""
    return len(_utf16(value)) // 2 + len(_WIDE.findall(value))


def _cut(value: str, width: int | None) -> str:
    units = _utf16(value)
    if width is None or len(units) <= 2 * width:
        return value
    dots = "..." if width > _NARROWEST else ""
    return units[: 2 * (width - len(dots))].decode("utf-16-le", "replace") + dots


def _utf16(value: str) -> bytes:
    """A value as Java has it, which counts by these units of two bytes."""
    return value.encode("utf-16-le", "surrogatepass")
