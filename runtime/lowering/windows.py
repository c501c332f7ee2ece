"""Time windows on their way through exchanges and Arrow: as their bounds, never as structs.

Spark's Arrow writer takes as long for a struct of two times as for six plain columns. Where all
windows have one length, the start alone goes, and their end is computed where they arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...physical.basic import ExpandExec, ProjectExec
from ...physical.plan import SparkPlan
from ...planner.model.expressions import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    Literal,
)
from ...planner.model.types import LONG, StructType, TimestampType
from ...planner.model.windows import PreciseTimestampConversion
from .columns import Column, column_name


@dataclass(frozen=True)
class WindowColumn(Column):
    """A window that is never null.

    Attributes:
        size: the length of all windows in microseconds; None: they differ, or it is not known.
    """

    size: int | None = None

    @property
    def bounds(self) -> list[Column]:
        """The columns of its start and end."""
        assert isinstance(self.data_type, StructType)
        fields = self.data_type.fields
        return [Column(f"{self.name}_{f.name}", f.data_type) for f in fields]

    @property
    def parts(self) -> list[Column]:
        return self.bounds if self.size is None else self.bounds[:1]

    @property
    def hashed(self) -> list[str]:
        # Spark's hashes of a struct are those of its fields.
        return [f"{self.name}.`{suffix}`" for suffix in self._suffixes]

    @property
    def sent(self) -> list[str]:
        return self.parted(self.name)

    def parted(self, sql: str) -> list[str]:
        """The SQL of `parts` for the SQL of a window."""
        pairs = zip(self.parts, self._suffixes, strict=False)
        return [f"{sql}.`{suffix}` AS {part.name}" for part, suffix in pairs]

    @property
    def _suffixes(self) -> list[str]:
        return [bound.name.removeprefix(f"{self.name}_") for bound in self.bounds]

    @property
    def ends(self) -> list[str]:
        """The SQL of start and end over `parts`."""
        first, last = (bound.name for bound in self.bounds)
        if self.size is not None:
            last = f"timestamp_micros(unix_micros({first}) + {self.size}L)"
        return [first, last]

    @property
    def inward(self) -> str:
        pairs = zip(self._suffixes, self.ends, strict=True)
        fields = ", ".join(f"'{suffix}', {sql}" for suffix, sql in pairs)
        return f"named_struct({fields}) AS {self.name}"


def windows_of(columns: Sequence[Column]) -> dict[int, int | None]:
    """Which of some columns are windows, by position, and their length."""
    return {i: c.size for i, c in enumerate(columns) if isinstance(c, WindowColumn)}


def key_columns(keys: Sequence[AttributeReference], below: SparkPlan) -> list[Column]:
    """The columns of some grouping keys over an operator."""
    return [key_column(key, below) for key in keys]


def key_column(key: AttributeReference, below: SparkPlan | None = None) -> Column:
    """The column of a key; `below` is where the window of a constant length may come from."""
    if key.metadata.window is None or not isinstance(key.data_type, StructType):
        return Column.of(key)
    column = window_column(key, below)
    # One whose length is known was made by an operator below as a struct, so it is not null.
    return Column.of(key) if key.nullable and column.size is None else column


def window_column(window: AttributeReference, below: SparkPlan | None = None) -> WindowColumn:
    """The column of a window; `below` is where windows of a constant length may come from."""
    size = None if below is None else _size(window, below)
    return WindowColumn(column_name(window), window.data_type, size)


def _size(window: AttributeReference, node: SparkPlan) -> int | None:
    """The one length of all windows of a column, if the operators below say so."""
    match node:
        case ProjectExec():
            aliases = (e for e in node.project_list if isinstance(e, Alias))
            made = [alias.child for alias in aliases if alias.expr_id == window.expr_id]
            if made:
                return _length(made[0])
        case ExpandExec() if window in node.attributes:
            place = node.attributes.index(window)
            lengths = {_length(projection[place]) for projection in node.projections}
            return lengths.pop() if len(lengths) == 1 else None
    if len(node.children) != 1 or window.expr_id not in {a.expr_id for a in node.output}:
        return None
    return _size(window, node.children[0])


def _length(window: Expression) -> int | None:
    """The microseconds between the bounds of `named_struct(start, t, end, t + constant)`."""
    match window:
        case Call(name="named_struct", arguments=(_, start, _, end)):
            first, last = _plain(start), _plain(end)
        case _:
            return None
    match last:
        case Call(name="+" | "timestamp_add_interval", arguments=(time, length)) if time == first:
            return _constant(length) if isinstance(start.data_type, TimestampType) else None
    return None


def _plain(bound: Expression) -> Expression:
    """A bound without conversions between a time and its microseconds."""
    match bound:
        case PreciseTimestampConversion(child=child):
            return _plain(child)
        case Call(name="knownnullable", arguments=(child,)):
            return _plain(child)
        case _:
            return bound


def _constant(length: Expression) -> int | None:
    """A constant number of microseconds; days and months are longer or shorter at times."""
    match length:
        case Literal(value=int(value), type_=kind) if kind == LONG:
            return value
        case Literal(value=(0, 0, int(micros))):
            return micros
        case _:
            return None
