"""Rows that a script asks of a table at rest: there are none, for no data is read."""

from __future__ import annotations

from typing import cast

import pyarrow as pa
from pyspark.sql.connect import proto
from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ..model.expressions.core import AggregateExpression, Alias, Expression, without_alias
from ..model.expressions.evaluation import evaluate
from ..model.plans.logical import Aggregate, GlobalLimit, LocalLimit, Project
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import OneRowRelation
from ..model.registry import find
from ..model.schemas.types import STRING
from ..model.text.text import plan_text
from .places import Message
from .types import to_proto

_ANY_ZONE = "UTC"  # of timestamps, of which there are none


def empty_rows(plan: LogicalPlan) -> list[Message]:
    """The rows of an analyzed plan over no rows: none, or one of an aggregate without groups.

    A query without a table has one row.
    """
    while isinstance(plan, GlobalLimit | LocalLimit):  # of `first()`
        plan = plan.child
    schema = to_proto(plan.schema)
    given = cast(StructType, proto_schema_to_pyspark_data_type(schema))
    columns = to_arrow_schema(given, timezone=_ANY_ZONE)
    columns = pa.schema([field.with_nullable(True) for field in columns])
    if isinstance(plan, Aggregate) and not plan.grouping:
        values = [[0 if _counts(one) else None] for one in plan.aggregates]
        arrays = [pa.array(v, f.type) for v, f in zip(values, columns, strict=True)]
    elif isinstance(plan, Project) and isinstance(plan.child, OneRowRelation):
        constants = [_constant(one) for one in plan.project_list]
        arrays = [pa.array([v], f.type) for v, f in zip(constants, columns, strict=True)]
    else:
        arrays = [pa.array([], field.type) for field in columns]
    return [
        proto.ExecutePlanResponse(schema=schema),
        rows_of(pa.record_batch(arrays, schema=columns)),
    ]


def _constant(expression: Expression) -> object:
    """The value of a constant number or text of a query without a table; of all else none.

    A text that nobody knows, such as `current_user()`, is its placeholder.
    """
    inner = without_alias(expression)
    found = evaluate(inner)
    if found is None:
        return f"?{plan_text(inner)}?" if inner.data_type == STRING else None
    return found.value if isinstance(found.value, int | float | str) else None


def _counts(expression: object) -> bool:
    inner = expression.child if isinstance(expression, Alias) else expression
    if isinstance(inner, AggregateExpression):
        inner = inner.function
    spec = find(getattr(inner, "name", "").lower())
    return spec is not None and spec.over_no_rows == 0


def empty_text(plan: LogicalPlan, *, vertical: bool) -> list[Message]:
    """What `show()` prints of no rows."""
    names = [attribute.name for attribute in plan.output]
    rule = "+" + "+".join("-" * max(len(name), 3) for name in names) + "+\n"
    heads = "|" + "|".join(name.rjust(3) for name in names) + "|\n"
    text = "(0 rows)\n" if vertical else f"{rule}{heads}{rule}{rule}"
    return [rows_of(pa.record_batch([pa.array([text])], names=["show_string"]))]


def rows_of(batch: pa.RecordBatch) -> Message:
    """The answer that holds rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    rows = proto.ExecutePlanResponse()
    rows.arrow_batch.row_count = batch.num_rows
    rows.arrow_batch.data = sink.getvalue().to_pybytes()
    return rows
