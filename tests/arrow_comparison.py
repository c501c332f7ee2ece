"""Expressions computed by tasks, row by row beside what a live Spark gives for them."""

from __future__ import annotations

import pickle
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from agreed import agree, digest, is_agreed
from arrow_cases import COLUMNS, table

from stateplan.planner.model.expressions.core import (
    AttributeReference,
    Call,
    Cast,
    Expression,
    Literal,
)
from stateplan.planner.model.text.spark_sql import spark_sql
from stateplan.planner.model.text.text import plan_text
from stateplan.planner.model.tree import replace
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.expressions.evaluator import Evaluator
from stateplan.runtime.kernels.expressions.programs.compile import compile_program, unsupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Data:
    """The rows that expressions are computed of, made when they are first asked for."""

    make: Callable[[], pa.Table]
    columns: tuple[AttributeReference, ...]

    @cached_property
    def table(self) -> Any:
        return self.make()

    @cached_property
    def batch(self) -> Any:
        """The rows as one batch; nulls have bytes behind them, as after a choice of columns."""
        (made,) = self.table.combine_chunks().to_batches()
        return pa.RecordBatch.from_arrays(list(map(_hiding, made.columns)), made.schema.names)

    @cached_property
    def encoded(self) -> Any:
        """The rows as files have them whose strings are numbers of words."""
        return pa.RecordBatch.from_arrays(
            [
                c.dictionary_encode(null_encoding="encode") if pa.types.is_string(c.type) else c
                for c in self.batch.columns
            ],
            self.batch.schema.names,
        )

    @cached_property
    def plain(self) -> dict[str, list[object]]:
        """The rows column by column, as `plain` has them."""
        return {name: plain(self.batch.column(name)) for name in self.batch.schema.names}

    @cached_property
    def digest(self) -> str:
        return digest(self.schema, self.plain)

    @property
    def schema(self) -> str:
        return ", ".join(f"{column.name} {column.data_type.sql}" for column in self.columns)


def _hiding(column: Any) -> Any:
    """The same values, with bytes behind the nulls among strings and binaries."""
    if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        return column
    _, *buffers = column.fill_null(pa.scalar(b"hides").cast(column.type)).buffers()
    validity = column.is_valid().buffers()[1]
    return pa.Array.from_buffers(column.type, len(column), [validity, *buffers])


DATA = Data(table, tuple(COLUMNS.values()))
NAMES = list(DATA.columns)


def evaluator(expressions: Sequence[Expression], data: Data = DATA) -> Evaluator:
    for expression in expressions:
        assert unsupported(expression, data.columns) is None, plan_text(expression)
    program = compile_program(expressions, data.columns)
    assert program is not None
    made: Evaluator = pickle.loads(pickle.dumps(Evaluator(program)))
    return made


def plain(array: Any) -> list[object]:
    """Values that can be compared: times as numbers, floats by their bits."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_struct(kind):
        parts = [plain(array.field(i)) for i in range(kind.num_fields)]
        return [
            tuple(part[i] for part in parts) if valid else None
            for i, valid in enumerate(array.is_valid().to_pylist())
        ]
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        parts, ends = plain(array.values), array.offsets.to_pylist()
        return [
            tuple(parts[ends[i] : ends[i + 1]]) if valid else None
            for i, valid in enumerate(array.is_valid().to_pylist())
        ]
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return array.view(pa.int64()).to_pylist()
    if pa.types.is_date32(kind):
        return array.view(pa.int32()).to_pylist()
    if pa.types.is_floating(kind):
        return [_bits(value) for value in array.to_pylist()]
    return array.to_pylist()


def _bits(value: float | None) -> object:
    if value is None or value != value:
        return None if value is None else "NaN"
    return "-0.0" if not value and struct.pack(">d", value)[0] else value


class Outcome:
    """What an expression gives here, row by row: values, or what it fails with."""

    def __init__(self, expression: Expression, data: Data = DATA) -> None:
        self.expression = expression
        self.count = data.batch.num_rows
        made = evaluator([expression], data)
        self.errors: dict[int, KernelError] = {}
        try:
            (array,) = made.evaluate(data.batch)
        except KernelError:
            self.values, self.type = self._row_by_row(made, data)
        else:
            array.validate(full=True)
            self.values, self.type = plain(array), array.type
            (of_words,) = made.evaluate(data.encoded)
            assert of_words.type == array.type
            assert plain(of_words) == self.values, plan_text(expression)

    def _row_by_row(self, made: Evaluator, data: Data) -> tuple[list[object], Any]:
        """The values, None where one fails, and their type; rows of the same inputs once."""
        inputs = [
            data.plain[column.name]
            for column in data.columns
            if column.expr_id in self.expression.references
        ]
        firsts: dict[tuple[object, ...], int] = {}
        same = [firsts.setdefault(tuple(c[i] for c in inputs), i) for i in range(self.count)]
        parts, failed = {}, {}
        for i in firsts.values():
            try:
                (parts[i],) = made.evaluate(data.batch.slice(i, 1))
            except KernelError as error:
                failed[i] = error
        self.errors = {i: failed[first] for i, first in enumerate(same) if first in failed}
        if not parts:
            return [None] * self.count, None
        array = pa.concat_arrays(list(parts.values()))
        values = dict(zip(parts, plain(array), strict=True))
        return [values.get(first) for first in same], array.type

    @cached_property
    def digest(self) -> str:
        """Of all that is compared with Spark."""
        kind = None if self.type is None or pa.types.is_nested(self.type) else self.type
        failures = [(row, error.message) for row, error in self.failures()]
        return digest(kind, self.values, failures)

    def fine(self) -> pa.Array:
        """Which rows do not fail."""
        return pa.array([i not in self.errors for i in range(self.count)])

    def failures(self) -> Iterator[tuple[int, KernelError]]:
        """A row for each kind of message."""
        seen = set()
        for row, error in self.errors.items():
            # What is refused by its value is compared with nothing.
            if error.condition not in (*seen, "STATEPLAN_NOT_EXACT"):
                seen.add(error.condition)
                yield row, error


def sql(expression: Expression) -> str:
    def shown(node: Expression) -> Expression:
        if isinstance(node, Call) and node.name == "normalizenanandzero":
            zero = Literal(value=0.0, type_=node.data_type)
            return replace(node, name="+", arguments=(node.arguments[0], zero))
        return node

    return spark_sql(expression.transform_up(shown), lambda column: f"`{column.name}`")


def difference(
    session: SparkSession,
    expressions: Sequence[Expression],
    path: Path,
    *,
    ansi: bool,
    data: Data = DATA,
) -> list[str]:
    """How what tasks compute differs from Spark."""
    zone = session.conf.get("spark.sql.session.timeZone")

    def question(outcome: Outcome) -> tuple[object, ...]:
        return sql(outcome.expression), ansi, zone, data.digest

    outcomes = [Outcome(expression, data) for expression in expressions]
    outcomes = [one for one in outcomes if not is_agreed(question(one), one.digest)]
    if not outcomes:
        return []
    rows = data.table.append_column("row", pa.array(range(data.table.num_rows)))
    schema = data.schema + ", row BIGINT"
    texts = []
    for i, outcome in enumerate(outcomes):
        text = sql(outcome.expression)
        if outcome.errors:
            rows = rows.append_column(f"fine{i}", outcome.fine())
            schema += f", fine{i} BOOLEAN"
            text = f"IF(fine{i}, {text}, NULL)"
        texts.append(f"{text} AS c{i}")
    pq.write_table(rows, path / "rows.parquet")
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    frame = session.read.schema(schema).parquet(str(path / "rows.parquet"))
    frame.createOrReplaceTempView("rows")
    found: list[str] = []
    answer = answer_of(session, f"SELECT {', '.join(texts)} FROM rows ORDER BY row")
    if isinstance(answer, str):
        if len(outcomes) == 1:
            return [f"{texts[0]} ansi={ansi}: fails in Spark only: {answer}"]
        half = len(outcomes) // 2
        return [
            line
            for part in (outcomes[:half], outcomes[half:])
            for line in difference(
                session, [one.expression for one in part], path, ansi=ansi, data=data
            )
        ]
    for outcome, column in zip(outcomes, answer.columns, strict=True):
        so_far = len(found)
        theirs = plain(column)
        pairs = zip(theirs, outcome.values, strict=True)
        wrong = [i for i, (a, b) in enumerate(pairs) if a != b]
        if wrong:
            i = wrong[0]
            inputs = {
                column.name: plain(data.batch.column(column.name).slice(i, 1))
                for column in data.columns
                if column.expr_id in outcome.expression.references
            }
            found.append(
                f"{sql(outcome.expression)} ansi={ansi} {len(wrong)} rows, {inputs}: "
                f"Spark {theirs[i]!r}, here {outcome.values[i]!r}"
            )
        if (
            outcome.type is not None
            and column.type != outcome.type
            and not pa.types.is_nested(outcome.type)
        ):
            found.append(f"{sql(outcome.expression)}: type {column.type}, here {outcome.type}")
        for row, error in outcome.failures():
            if _is_known(outcome.expression, error):
                continue
            asked = f"SELECT {sql(outcome.expression)} FROM rows WHERE row = {row}"
            text = answer_of(session, asked, in_arrow=False)
            if not isinstance(text, str) or _rounded(text) != _rounded(error.message):
                found.append(f"{sql(outcome.expression)} row {row}: Spark {text}, here {error}")
        if len(found) == so_far:
            agree(question(outcome), outcome.digest)
    return found


_ASKED: set[tuple[str, str]] = set()


def _is_known(expression: Expression, error: KernelError) -> bool:
    """Whether Spark was asked about such a message already: each costs a query of its own."""
    name = expression.name if isinstance(expression, Call) else type(expression).__name__
    key = name, re.sub(r"-?[0-9][0-9.E+]*|'.*?'", "", error.message)
    if key in _ASKED:
        return True
    _ASKED.add(key)
    return False


def _rounded(message: str) -> str:
    """The first line of a message, its floats in seven digits, without why there is no such time.

    An exception of Java's own, as microseconds that leave 64 bits raise, has no message here.
    """
    line = message.split("\n")[0]
    if "long overflow" in line or line.startswith("An error occurred while calling"):
        return "long overflow"
    line = re.sub(r"could not be parsed: .*?\. Use", "could not be parsed. Use", line)
    return re.sub(r"[0-9.]+E[0-9]+", lambda number: f"{float(number[0]):.6e}", line)


def answer_of(session: SparkSession, query: str, *, in_arrow: bool = True) -> Any:
    """The answer, or the first line of the error, which is sooner there if not asked in Arrow."""
    try:
        frame = session.sql(query)
        return frame.toArrow() if in_arrow else frame.collect()
    except Exception as error:
        return str(error).split("\n")[0]


def chunked(expressions: Sequence[Expression], size: int = 250) -> Iterator[Sequence[Expression]]:
    for i in range(0, len(expressions), size):
        yield expressions[i : i + size]


def is_ansi(expression: Expression) -> bool:
    if isinstance(expression, Cast):
        return expression.mode != "LEGACY"
    return not isinstance(expression, Call) or expression.ansi


def in_zone(expression: Expression, zone: str) -> Expression:
    """An expression all of whose parts reckon in a zone."""

    def moved(part: Expression) -> Expression:
        return replace(part, time_zone=zone) if isinstance(part, Call | Cast) else part

    return expression.transform_up(moved)
