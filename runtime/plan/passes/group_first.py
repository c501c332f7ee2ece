"""Lets the engine group rows before they are exchanged, where that leaves few.

    Kernel                     Kernel
    +- Select [buffers]        +- Select
       +- Exchange                +- Aggregate [keys], [partial aggregates]
          +- Select [keys]           +- Select [keys]

Requires the selects of an aggregation as `aggregation.py` makes them, so it runs first. Always
without keys. Otherwise if that paid in the batch before: an engine's aggregation takes as long as
the exchange that it saves unless it leaves few rows, and a small batch is done sooner without.
Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    lit,
    to_attribute,
)
from ....planner.model.functions.aggregate_forms import partial_over
from ....planner.model.schemas.types import LONG, MapType, contains_type
from ....planner.model.tree import replace
from ..carried import Carried, plain
from ..facts import TO_GROUP, BatchFacts, Figures
from ..nodes import Aggregate, Exchange, Kernel, RuntimeNode, Select, travelling, used_by
from ..reading_nodes import rows_of_tasks
from ..specs import AggregateSpec


def group_first(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan with the groupings that pay."""
    if not facts.engine.groups_first:
        return plan

    def grouped(node: RuntimeNode) -> RuntimeNode:
        match node:
            case Kernel() if rows_of_tasks(node):
                return node  # its tasks group what they read
            case Kernel(hashed=keys) if any(contains_type(k.data_type, MapType) for k in keys):
                return node  # Spark would sort maps once more, and loses null values of them then
            case Kernel(spec=AggregateSpec() as spec) if spec.sources is not None:
                return _grouped(node, spec) if _pays(node, facts) else node
        return node

    return plan.transform_up(grouped)


def _pays(kernel: Kernel, facts: BatchFacts) -> bool:
    return kernel.single or leaves_few(kernel, facts, TO_GROUP)


def leaves_few(kernel: Kernel, facts: BatchFacts, rows: int) -> bool:
    """Whether the last batch of an aggregation had many rows, and so many for each key."""
    info = None if kernel.operator is None else kernel.operator.state_info
    known = None if info is None else facts.figures.get(info.operator_id)
    return (known or Figures()).rows_a_key >= rows


def _grouped(kernel: Kernel, spec: AggregateSpec) -> RuntimeNode:
    rows = _keyed(kernel)
    keys = kernel.taken[: len(spec.keys)]
    made = [_grouping(e) for e in kernel.hashed]
    partials = [
        Alias(child=value, name=buffer.name, expr_id=buffer.expr_id)
        for f in spec.functions
        for value, buffer in zip(
            partial_over(f.forms, f.aggregate.filter), f.travelling, strict=True
        )
    ]
    count = AggregateExpression(function=Call(name="count", arguments=(lit(1),)))
    number = Alias(child=count, name="rows")
    parts = [c for c in rows.columns if _is_part(c, keys)]
    own = {to_attribute(c).expr_id for c in parts}
    others = [a for a in used_by(partials, rows.child.output) if a.expr_id not in own]
    groups = Aggregate(
        child=replace(rows, columns=(*parts, *others)),
        keys=tuple(made),
        aggregates=(*partials, number),
        placed=not kernel.single,
    )
    buffers = [b for f in spec.functions for b in f.travelling]
    columns = (*travelling(keys), *buffers, number.to_attribute())
    taken = (*keys, *map(plain, buffers), plain(replace(number.to_attribute(), type_=LONG)))
    return replace(
        kernel,
        inputs=(Select(child=groups, columns=columns),),
        spec=replace(spec, sources=None),
        taken=taken,
    )


def _keyed(kernel: Kernel) -> Select:
    """The select that makes the keys."""
    (node,) = kernel.inputs
    while not isinstance(node, Select) or isinstance(node.child, Exchange):
        (node,) = node.children
    below = node.child
    # Without keys there is no exchange between the two selects.
    if kernel.single and isinstance(below, Select):
        return below
    return node


def _grouping(expression: Expression) -> Expression:
    return (
        expression
        if isinstance(expression, AttributeReference)
        else Alias(child=expression, name="key")
    )


def _is_part(column: Expression, keys: Sequence[Carried]) -> bool:
    ids = {part.expr_id for part in travelling(keys)}
    return to_attribute(column).expr_id in ids
