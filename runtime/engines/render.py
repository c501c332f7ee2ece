"""From a runtime plan to one DataFrame program. SQL is made here, once for each select."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from ...physical.exchange import BroadcastExchangeExec
from ...physical.joins import BaseJoinExec
from ...planner.model.errors import InternalError
from ...planner.model.expressions.core import Alias, Expression, to_attribute, without_alias
from ...planner.model.formats import metadata_columns
from ...planner.model.text.spark_sql import quote, spark_sql
from ...rules.optimization.operators.map_keys import map_as_entries
from ..arrow_types import column_name, column_names
from ..kernels.observed import ObservedRows
from ..plan.nodes import (
    Aggregate,
    Apart,
    AsIs,
    Exchange,
    Expand,
    Kernel,
    PassingLimit,
    ReadSource,
    ReadTable,
    RuntimeNode,
    Select,
    Union,
    used_by,
)
from ..plan.observing_nodes import (
    CountRows,
    ObserveBuffers,
    Observed,
    ObserveEventTime,
    ObserveMetrics,
)
from .engine import Reading
from .evaluating import evaluator
from .kernels import observed_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .batch import Batch


@singledispatch
def render(node: RuntimeNode, batch: Batch) -> DataFrame:
    """The DataFrame of a node, its columns named by id.

    Raises:
        RuntimeFailure: an operator cannot be run on the batch's engine.
    """
    raise InternalError(f"the runtime plan has a node that nothing renders: {node.node_name}")


def render_output(node: RuntimeNode, names: Sequence[str], batch: Batch) -> DataFrame:
    """The DataFrame of a whole plan, its columns under the names that users see.

    Each step of a DataFrame's program costs Spark some milliseconds: a last Select names them.
    """
    if isinstance(node, Select) and not node.in_arrow:
        columns = [sql_of(without_alias(column)) for column in node.columns]
        return batch.engine.named(_selected(node, batch), columns, names)
    return batch.engine.named(render(node, batch), list(map(column_name, node.output)), names)


def sql_of(expression: Expression) -> str:
    """An expression over rendered columns, in Spark SQL."""
    return spark_sql(expression, column_name)


def named(expression: Expression) -> str:
    """A named expression in SQL, under its column's name."""
    column = to_attribute(expression)
    if not isinstance(expression, Alias):
        return column_name(column)
    return f"{sql_of(expression.child)} AS {column_name(column)}"


def all_named(expressions: Sequence[Expression]) -> Iterator[str]:
    """Several of them; one that is there again gets a name that nothing refers to."""
    columns = list(map(to_attribute, expressions))
    for expression, column, name in zip(expressions, columns, column_names(columns), strict=True):
        own = column_name(column)
        yield named(expression) if name == own else f"{own} AS {name}"


def conjunction(conditions: Iterable[Expression]) -> str:
    """Several conditions as one, in SQL."""
    return " AND ".join(f"({sql_of(condition)})" for condition in conditions)


@render.register(ReadSource)
def _(node: ReadSource, batch: Batch) -> DataFrame:
    frame = batch.context.sources.get(node.name)
    if frame is None:
        raise InternalError(f"no rows were given for the source {node.name}")
    if node.read is None:
        return _without_metadata(frame, node, batch).toDF(*map(column_name, node.attributes))
    if not batch.engine.facts.prunes:
        ids = [a.expr_id for a in node.attributes]
        places = [ids.index(a.expr_id) for a in node.read]
        only = batch.engine.only(frame, places, node.read, node.given)
        return only.toDF(*map(column_name, node.read)) if places else only
    if len({a.name.lower() for a in node.attributes}) == len(node.attributes):
        only = frame.selectExpr(*(f"{quote(a.name)} AS {column_name(a)}" for a in node.read))
    else:
        named_by_id = _without_metadata(frame, node, batch).toDF(*map(column_name, node.attributes))
        only = named_by_id.select(*map(column_name, node.read))
    return only.where(conjunction(node.given)) if node.given else only


def _without_metadata(frame: DataFrame, node: ReadSource, batch: Batch) -> DataFrame:
    """A source's rows, where another place of the query alone asks which file they are of."""
    reader = batch.context.readers.get(node.name)
    if reader is None or not reader.metadata or len(frame.columns) == len(node.attributes):
        return frame
    if not batch.engine.facts.prunes:
        return batch.engine.only(frame, range(len(node.attributes)), node.attributes, ())
    return frame.drop(*(quote(column.name) for column in metadata_columns(reader.metadata)))


@render.register(ReadTable)
def _(node: ReadTable, batch: Batch) -> DataFrame:
    frame = batch.context.sources.get(node.name)
    if frame is None:
        raise InternalError(f"no rows were given for the table {node.name}")
    places = _places([a.name for a in node.attributes], frame.columns)
    if not batch.engine.facts.prunes:
        only = batch.engine.only(frame, places, node.attributes, node.given)
        return only.toDF(*map(column_name, node.attributes)) if places else only
    renamed = frame.toDF(*(f"t{i}" for i in range(len(frame.columns))))
    named_columns = zip(places, node.attributes, strict=True)
    return renamed.selectExpr(*(f"t{i} AS {column_name(a)}" for i, a in named_columns))


def _places(names: Sequence[str], columns: Sequence[str]) -> list[int]:
    """The places of a table's columns, which have other letters where none has the same."""
    same = {name: place for place, name in enumerate(columns)}
    alike = {name.lower(): place for place, name in enumerate(columns)}
    return [same[name] if name in same else alike[name.lower()] for name in names]


@render.register(Select)
def _(node: Select, batch: Batch) -> DataFrame:
    if node.in_arrow:
        values = [without_alias(c) for c in node.columns]
        program = evaluator(values, node.child.output, node.conditions)
        return batch.engine.compute(render(node.child, batch), [program], node.output)
    frame = _selected(node, batch)
    if not node.columns:
        return batch.engine.without_columns(frame)
    if node.columns == node.child.output:
        return frame
    return frame.selectExpr(*all_named(node.columns))


def _selected(node: Select, batch: Batch) -> DataFrame:
    """The rows that fulfil a Select's conditions, before it computes columns of them."""
    frame = render(node.child, batch)
    return frame.where(conjunction(node.conditions)) if node.conditions else frame


@render.register(Apart)
def _(node: Apart, batch: Batch) -> DataFrame:
    # No engine looks into Python.
    return batch.engine.observe_rows(render(node.child, batch), lambda rows: None)


@render.register(Expand)
def _(node: Expand, batch: Batch) -> DataFrame:
    columns, frame = node.child.output, render(node.child, batch)
    if node.in_arrow:
        programs = [evaluator(projection, columns) for projection in node.projections]
        return batch.engine.compute(frame, programs, node.output)
    names = [column_name(a) for a in node.attributes]
    rows = ", ".join(
        "named_struct("
        + ", ".join(f"'{n}', {sql_of(e)}" for n, e in zip(names, projection, strict=True))
        + ")"
        for projection in node.projections
    )
    return batch.engine.dataframe(frame).selectExpr(f"inline(array({rows}))")


@render.register(Exchange)
def _(node: Exchange, batch: Batch) -> DataFrame:
    # Spark would sort a map once more, and loses null values of it then.
    keys = [sql_of(map_as_entries(key)) for key in node.keys]
    frame = render(node.child, batch)
    return batch.engine.exchange(frame, node.to, keys, batch.context.tasks)


@render.register(Union)
def _(node: Union, batch: Batch) -> DataFrame:
    names = list(map(column_name, node.attributes))
    return batch.engine.union([render(rows, batch).toDF(*names) for rows in node.inputs])


@render.register(Aggregate)
def _(node: Aggregate, batch: Batch) -> DataFrame:
    child = node.child
    frame = render(child, batch)
    keys = list(map(to_attribute, node.keys))
    ids = {key.expr_id for key in keys}
    others = [a for a in used_by(node.aggregates, child.output) if a.expr_id not in ids]
    frame = frame.selectExpr(*map(named, node.keys), *map(column_name, others))
    names = [column_name(key) for key in keys]
    placed = node.placed and not _lies_anyhow(child, batch)
    return batch.engine.aggregate(
        frame, names, list(map(named, node.aggregates)), batch.context.tasks, placed=placed
    )


def _lies_anyhow(node: RuntimeNode, batch: Batch) -> bool:
    """Whether no engine knows of an order in which rows lie.

    It does not of what comes from files without an exchange, nor of what Python functions give,
    unless that is one partition. A join with rows that are broadcast leaves the others where they
    are.
    """
    match node:
        case Kernel():
            return not node.single
        case Select() | Expand() | ObserveEventTime() | CountRows():
            return _lies_anyhow(node.child, batch)
        case Union():
            return all(_lies_anyhow(rows, batch) for rows in node.inputs)
        case AsIs(operator=BaseJoinExec()):
            stay = [rows for rows in node.inputs if not _is_broadcast(rows)]
            return len(stay) == 1 and _lies_anyhow(stay[0], batch)
        case _:
            return isinstance(node, ReadSource) and node.name in batch.context.readers


def _is_broadcast(node: RuntimeNode) -> bool:
    return isinstance(node, AsIs) and isinstance(node.operator, BroadcastExchangeExec)


@render.register(ObserveEventTime)
def _(node: ObserveEventTime, batch: Batch) -> DataFrame:
    frame = render(node.child, batch)
    frame, times = batch.engine.observe_event_times(frame, sql_of(node.event_time))
    batch.add_event_times(node.node_id, times)
    return frame


@render.register(ObserveMetrics)
def _(node: ObserveMetrics, batch: Batch) -> DataFrame:
    metrics = {to_attribute(e).name: sql_of(e.children[0]) for e in node.metrics}
    frame, reading = batch.engine.observe(render(node.child, batch), metrics)
    batch.add_metrics(node.name, reading)
    return frame


@render.register(ObserveBuffers)
def _(node: ObserveBuffers, batch: Batch) -> DataFrame:
    rows = observed_rows(node)
    frame = batch.engine.observe_rows(render(node.child, batch), rows.take)
    batch.add_metrics(node.name, _Metrics(node, rows, batch))
    return frame


@dataclass(frozen=True)
class _Metrics(Reading):
    """What an ObserveBuffers has seen."""

    node: ObserveBuffers
    rows: ObservedRows
    batch: Batch

    def values(self, deadline: float) -> Mapping[str, Any] | None:
        self.batch.observed[self.node.name] = self.rows.result()
        results = self.node.results
        (row,) = render(results, self.batch).collect()
        return {a.name: value for a, value in zip(results.output, row, strict=True)}


@render.register(Observed)
def _(node: Observed, batch: Batch) -> DataFrame:
    return batch.engine.given(batch.observed[node.name], node.attributes)


@render.register(CountRows)
def _(node: CountRows, batch: Batch) -> DataFrame:
    frame, reading = batch.engine.observe(render(node.child, batch), {"rows": "count(1)"})
    batch.add_count(node.source, reading)
    return frame


@render.register(Kernel)
def _(node: Kernel, batch: Batch) -> DataFrame:
    return batch.run_kernel(node)


@render.register(PassingLimit)
def _(node: PassingLimit, batch: Batch) -> DataFrame:
    frame = render(node.child, batch)
    reading = None
    if node.counted:
        # The state does not depend on the action, but the event times that it sees do.
        frame, reading = batch.engine.observe(frame, {"rows": "count(1)"})
    batch.pass_limit(node, reading)
    return frame if node.passes else batch.engine.drop_rows(frame)
