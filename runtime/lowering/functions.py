"""Aggregate functions: their SQL over rows, their buffers' merges, their SQL over buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...physical.aggregate import BaseAggregateExec
from ...planner.model.errors import RuntimeFailure
from ...planner.model.expressions import AggregateExpression, Expression, SortOrder
from ...planner.model.registry import ONE, AggregateForms
from ...planner.model.types import DataType
from ..kernels.buffers import Buffers, MergeStep, OutputColumn, RowBuffers
from .columns import Column, arrow_schema, sql_of


@dataclass(frozen=True)
class Function:
    """One aggregate function of an aggregation, at a position among its functions."""

    position: int
    aggregate: AggregateExpression
    forms: AggregateForms

    @property
    def buffers(self) -> list[Column]:
        """The columns of its buffers."""
        return [
            Column(f"b{self.position}_{i}", buffer.data_type)
            for i, buffer in enumerate(self.forms.buffers)
        ]

    @property
    def emitted(self) -> list[Column]:
        """The columns that the kernel gives for it."""
        if self.forms.finish is None:
            return self.buffers
        return [Column(f"b{self.position}_0", self.aggregate.function.data_type)]

    @property
    def partials(self) -> list[str]:
        """The SQL of its buffers over rows."""
        call, condition = self.aggregate.function, self.aggregate.filter
        arguments = list(map(_argument, call.arguments))
        where = None if condition is None else sql_of(condition)
        texts = self.forms.partial_sql(arguments, where)
        return [f"{sql} AS {c.name}" for sql, c in zip(texts, self.buffers, strict=True)]

    @property
    def row(self) -> list[str]:
        """The SQL of its buffers over one row; empty if there is none."""
        call, condition = self.aggregate.function, self.aggregate.filter
        return self.forms.row_sql(
            list(map(_argument, call.arguments)),
            None if condition is None else sql_of(condition),
            never_null=not any(argument.nullable for argument in call.arguments),
        )

    @property
    def at_once(self) -> list[str]:
        """The SQL of what the kernel would give, over all rows: for aggregations without state."""
        if self.forms.finish is None:
            return self.partials
        return [f"{sql_of(self.aggregate)} AS {self.emitted[0].name}"]

    @property
    def result(self) -> str:
        """The SQL of its result over what the kernel gives, named as the plan names it."""
        sql = self.forms.final_sql([column.name for column in self.emitted])
        return f"{sql} AS c{self.aggregate.result_id}"


def _argument(argument: Expression) -> str:
    """An argument's SQL. What a list is ordered by goes into its buffer; the merge orders it."""
    return sql_of(argument.child if isinstance(argument, SortOrder) else argument)


def functions_of(step: BaseAggregateExec) -> list[Function]:
    """The functions of an aggregation.

    Raises:
        RuntimeFailure: one cannot be computed in steps here.
    """
    found = []
    for i, aggregate in enumerate(step.aggregates):
        call = aggregate.function
        forms = call.spec.forms(call) if call.spec.forms is not None else None
        if forms is None or not forms.mergeable:
            raise RuntimeFailure(
                "STATEPLAN_UNMERGEABLE_AGGREGATE",
                f"The aggregate function `{call.name}` can be planned, but not run: it cannot be "
                "merged batch by batch here.",
                hint="Leave it out, or use another function, such as approx_count_distinct, min, "
                "max or collect_list.",
            )
        found.append(Function(i, aggregate, forms))
    return found


@dataclass(frozen=True)
class RowColumns:
    """What rows bring for their buffers: each column once, ones that are 1 not at all.

    Attributes:
        columns: the columns.
        texts: their SQL, in step.
        buffers: how buffers are made of them.
    """

    columns: list[Column]
    texts: list[str]
    buffers: RowBuffers

    @property
    def sql(self) -> list[str]:
        """The SQL that makes the columns."""
        return [f"{t} AS {c.name}" for t, c in zip(self.texts, self.columns, strict=True)]


def rows_of(functions: Sequence[Function]) -> RowColumns | None:
    """The columns that make the buffers of single rows; None if a function has no such form."""
    if not all(function.forms.row for function in functions):
        return None
    found: dict[tuple[str, DataType], int] = {}
    sources: list[int | None] = []
    for function in functions:
        for sql, buffer in zip(function.row, function.buffers, strict=True):
            known = found.setdefault((sql, buffer.data_type), len(found)) if sql != ONE else None
            sources.append(known)
    columns = [Column(f"r{i}", data_type) for (_, data_type), i in found.items()]
    texts = [sql for sql, _ in found]
    return RowColumns(columns, texts, RowBuffers(arrow_schema(columns), tuple(sources)))


def buffers_of(functions: Sequence[Function]) -> Buffers:
    """How the buffer columns of all functions merge."""
    merges: list[MergeStep] = []
    outputs: list[OutputColumn] = []
    start = 0
    for function in functions:
        forms = function.forms
        for merge in forms.merges:
            columns = tuple(start + position for position in merge.buffers)
            merges.append(MergeStep(merge.operation, columns))
        own = tuple(range(start, start + len(forms.buffers)))
        if forms.finish is None:
            outputs.extend(OutputColumn((i,)) for i in own)
        else:
            outputs.append(OutputColumn(own, forms.finish))
        start += len(own)
    return Buffers(
        arrow_schema([c for f in functions for c in f.buffers]),
        tuple(merges),
        tuple(outputs),
        arrow_schema([c for f in functions for c in f.emitted]),
    )
