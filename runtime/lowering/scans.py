"""Which stateful operators read their rows from Parquet files themselves, and what they read.

That is where nothing stands between an operator and the files but a watermark, columns that are
picked and time windows, so that no row needs Spark: its scan, its exchange and the way into Python
take three times as long as all the rest of a batch. Everything else goes through Spark, batch by
batch as it comes: places and hashes of keys are the same on either way, and so is the state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from ...physical.basic import (
    EventTimeWatermarkExec,
    FilterExec,
    ProjectExec,
    StreamingRelationExec,
)
from ...physical.exchange import ShuffleExchangeExec
from ...physical.plan import SparkPlan
from ...planner.model.expressions import (
    Alias,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    Literal,
    to_attribute,
)
from ...planner.model.types import (
    LONG,
    DataType,
    DoubleType,
    FloatType,
    IntegralType,
    TimestampType,
)
from ...planner.model.windows import PreciseTimestampConversion
from ..kernels.hashing import can_hash
from ..kernels.scan import Formula, Scan
from ..sources.parquet import ParquetBatch, with_origins
from .columns import Column, arrow_type
from .context import LoweringContext
from .windows import WindowColumn

MOST_TASKS = 8
"""Each task reads all files: with more tasks than this it is quicker that Spark exchanges rows."""

_COLUMN = re.compile(r"c(\d+)")
_CAST = re.compile(r"CAST\(c(\d+) AS \w+\)")  # to the type of the buffer
_DOUBLE = re.compile(r"CAST\(c(\d+) AS DOUBLE\) \+ 0D")
_COUNTED = re.compile(r"IF\(\(c(\d+)\) IS NULL, 0L, 1L\)")


class _Unknown(Exception):
    """Something that only Spark computes."""


@dataclass
class _Rows:
    """What an operator gives, over the columns of a relation.

    Attributes:
        relation: where its rows come from.
        values: per column by id its expression over the relation's columns.
        required: the ids of the relation's columns without which a row is left out.
        watermark: what observes all rows, if something does.
    """

    relation: StreamingRelationExec
    values: dict[int, Expression]
    required: set[int] = field(default_factory=set)
    watermark: EventTimeWatermarkExec | None = None


@dataclass(frozen=True)
class Reader:
    """The files that an operator's tasks read; makes the `Scan` of them that a kernel needs.

    Attributes:
        watermark: the `node_id` of what observes event times, if something does.
    """

    context: LoweringContext
    files: ParquetBatch
    rows: _Rows

    @property
    def watermark(self) -> str | None:
        return None if self.rows.watermark is None else self.rows.watermark.node_id

    def with_columns(self, named: Sequence[Expression]) -> Reader | None:
        """With more columns, made of those that there are; None if Spark alone can make them."""
        try:
            values = {to_attribute(e).expr_id: _over(e, self.rows.values) for e in named}
        except _Unknown:
            return None
        return replace(self, rows=replace(self.rows, values=self.rows.values | values))

    def scan(
        self,
        keys: Sequence[Column],
        columns: Sequence[Column],
        buffers: Sequence[tuple[str, Column]] = (),
        *,
        origins: bool = False,
    ) -> Scan | None:
        """What the tasks read; None if it takes Spark to make a column.

        Args:
            keys: what places rows.
            columns: the columns that a kernel takes, behind them `buffers`.
            buffers: columns that are computed of others, with their SQL.
            origins: whether the kernel asks where rows come from.
        """
        try:
            return self._scan(keys, columns, buffers, origins)
        except _Unknown:
            return None

    def _scan(
        self,
        keys: Sequence[Column],
        columns: Sequence[Column],
        buffers: Sequence[tuple[str, Column]],
        origins: bool,
    ) -> Scan:
        made = _Formulas(self.rows, self.files)
        hashed = tuple(f for key in keys for f in made.hashed(key))
        parts = [f for column in columns for f in made.parts(column)]
        parts += [made.buffer(sql, column) for sql, column in buffers]
        required = tuple(made.place(id_) for id_ in sorted(self.rows.required))
        if not made.computed <= set(required):
            raise _Unknown  # what is computed here has no nulls
        watermark, time = self.rows.watermark, None
        if watermark is not None:
            time = made.column(self.rows.values[watermark.event_time.expr_id])
        files = self.files.files
        if origins:
            files = with_origins(files, self.files.sizes, self.context.cores)
        return Scan(files, made.schema, tuple(parts), hashed, required, time, origins)


def reader(plan: SparkPlan, context: LoweringContext) -> Reader | None:
    """What reads the rows of a plan without Spark; None if something in it asks for Spark."""
    if context.tasks > MOST_TASKS:
        return None
    try:
        rows = _rows(plan)
    except _Unknown:
        return None
    files = context.files.get(rows.relation.name)
    return None if files is None else Reader(context, files, rows)


def unexchanged(plan: SparkPlan) -> SparkPlan:
    """What stands below the exchange that an operator asks for."""
    return plan.child if isinstance(plan, ShuffleExchangeExec) else plan


def _rows(node: SparkPlan) -> _Rows:
    match node:
        case StreamingRelationExec():
            return _Rows(node, {a.expr_id: a for a in node.attributes})
        case EventTimeWatermarkExec():
            rows = _rows(node.child)
            if rows.required or rows.watermark is not None:
                raise _Unknown
            return replace(rows, watermark=node)
        case FilterExec():
            rows = _rows(node.child)
            return replace(rows, required=rows.required | _not_null(node.condition, rows))
        case ProjectExec():
            rows = _rows(node.child)
            values = {to_attribute(e).expr_id: _over(e, rows.values) for e in node.project_list}
            if rows.watermark is not None:
                observed = rows.watermark.event_time.expr_id
                values.setdefault(observed, rows.values[observed])
            return replace(rows, values=values)
    raise _Unknown


def _over(expression: Expression, values: dict[int, Expression]) -> Expression:
    """A named expression over the columns of a relation, without its name."""

    def replaced(one: Expression) -> Expression:
        match one:
            case AttributeReference(expr_id=id_):
                if id_ not in values:
                    raise _Unknown
                return values[id_]
            case Alias(child=child):
                return child
        return one

    return expression.transform_up(replaced)


def _not_null(condition: Expression, rows: _Rows) -> set[int]:
    match condition:
        case Call(name="and", arguments=(left, right)):
            return _not_null(left, rows) | _not_null(right, rows)
        case Call(name="isnotnull", arguments=(AttributeReference(expr_id=id_),)):
            value = rows.values.get(id_)
            if isinstance(value, AttributeReference):
                return {value.expr_id}
    raise _Unknown


class _Formulas:
    """Formulas over the columns that they need, which are numbered as they come up.

    Attributes:
        computed: the columns that something is computed of.
    """

    def __init__(self, rows: _Rows, files: ParquetBatch) -> None:
        self._rows = rows
        self._files = files
        self._names = {a.expr_id: a for a in rows.relation.attributes}
        self._places: dict[int, int] = {}
        self.computed: set[int] = set()

    @property
    def schema(self) -> pa.Schema:
        """The columns that are read."""
        read = [self._names[id_] for id_ in self._places]
        return pa.schema([pa.field(a.name, arrow_type(a.data_type)) for a in read])

    def place(self, id_: int) -> int:
        """The number of a column of the relation, which is read from now on."""
        attribute = self._names.get(id_)
        if attribute is None or self._files.types.get(attribute.name) != arrow_type(
            attribute.data_type
        ):
            raise _Unknown
        return self._places.setdefault(id_, len(self._places))

    def column(self, expression: Expression) -> int:
        """The number of the column that an expression is."""
        if not isinstance(expression, AttributeReference):
            raise _Unknown
        return self.place(expression.expr_id)

    def parts(self, column: Column) -> list[Formula]:
        """What travels for a column."""
        value = self._value(column)
        if isinstance(column, WindowColumn):
            return list(map(self._number, _bounds(value)[: len(column.parts)]))
        return [("column", self.column(value))]

    def hashed(self, column: Column) -> list[Formula]:
        """What is hashed for a column."""
        value = self._value(column)
        if isinstance(column, WindowColumn):
            return list(map(self._number, _bounds(value)))
        if not can_hash(arrow_type(column.data_type)):
            raise _Unknown
        return [("column", self.column(value))]

    def buffer(self, sql: str, column: Column) -> Formula:
        """A column that is another one, under a wider type, or says where that has a value."""
        if found := _COUNTED.fullmatch(sql):
            return ("valid", self.column(self._named(found[1])))
        if found := _DOUBLE.fullmatch(sql):
            value = self._named(found[1])
            if isinstance(value.data_type, FloatType | DoubleType):
                return ("double", self.column(value))
        elif found := _COLUMN.fullmatch(sql) or _CAST.fullmatch(sql):
            value = self._named(found[1])
            if _widens(value.data_type, column.data_type):
                return ("column", self.column(value))
        raise _Unknown

    def _value(self, column: Column) -> Expression:
        name = _COLUMN.fullmatch(column.name)
        if name is None:
            raise _Unknown
        return self._named(name[1])

    def _named(self, id_: str) -> Expression:
        if int(id_) not in self._rows.values:
            raise _Unknown
        return self._rows.values[int(id_)]

    def _number(self, expression: Expression) -> Formula:
        """A formula of 64-bit numbers."""
        match expression:
            case PreciseTimestampConversion(child=child):
                return self._number(child)
            case Call(name="knownnullable", arguments=(child,)):
                return self._number(child)
            case AttributeReference(data_type=TimestampType()):
                place = self.column(expression)
                self.computed.add(place)
                return ("column", place)
            case Literal(value=int(value), type_=kind) if kind == LONG:
                return ("literal", value)
            case Cast(child=Literal(value=int(value), type_=IntegralType()), type_=kind) if (
                kind == LONG
            ):
                return ("literal", value)
            case Call(name="+" | "-" | "%" | "<" as name, arguments=(left, right)) if (
                expression.ansi is not True or name == "<"
            ):
                return (name, self._number(left), self._number(right))
            case CaseWhen(conditions=(condition,), values=(value,), otherwise=Expression() as rest):
                return ("case", *map(self._number, (condition, value, rest)))
        raise _Unknown


def _bounds(window: Expression) -> tuple[Expression, Expression]:
    """The start and the end that make a window."""
    match window:
        case Call(name="named_struct", arguments=(_, start, _, end)):
            return start, end
    raise _Unknown


def _widens(given: DataType, wanted: DataType) -> bool:
    """Whether a type's values are values of the other as they are."""
    if given == wanted:
        return True
    if isinstance(given, IntegralType):
        return wanted == LONG
    return isinstance(given, FloatType) and isinstance(wanted, DoubleType)
