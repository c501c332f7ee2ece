"""`repartition`, `coalesce`, `sample` and `observe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.expressions.core import Origin, SortOrder
from ..model.plans.logical import CollectMetrics, Sort
from ..model.plans.partitions import Repartition, RepartitionByExpression, Sample, positive
from ..model.plans.query_plan import LogicalPlan
from ..model.schemas.types import is_orderable
from .places import Message

if TYPE_CHECKING:
    from .relations import RelationReader

_HINT = "Give a number of partitions that is one or more."


def repartition(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`repartition(n)` shuffles, `coalesce(n)` does not.

    Raises:
        AnalysisError: the number is not positive.
    """
    child = reader.child(message.input)
    count = positive(message.num_partitions, _HINT)
    # As in the protocol: without a word it does not shuffle.
    return Repartition(child=child, num_partitions=count, shuffle=message.shuffle, origin=origin)


def repartition_by(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`repartition(columns)` and `repartitionByRange`, with or without a number."""
    child = reader.child(message.input)
    by = reader.expressions.read_all(message.partition_exprs)
    count = positive(message.num_partitions, _HINT) if message.HasField("num_partitions") else None
    return RepartitionByExpression(child=child, by=by, num_partitions=count, origin=origin)


def sample(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`sample`: the client draws a seed where the code gives none.

    `randomSplit` samples rows that are sorted in each partition, so that its parts fit together.
    """
    child: LogicalPlan = reader.child(message.input)
    if message.deterministic_order:
        order = tuple(SortOrder(child=a) for a in child.output if is_orderable(a.type_))
        child = Sort(child=child, order=order, is_global=False, origin=origin)
    return Sample(
        child=child,
        lower=message.lower_bound,
        upper=message.upper_bound,
        with_replacement=message.with_replacement,
        seed=message.seed,
        origin=origin,
    )


def collect_metrics(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`observe`: aggregates over the rows that pass."""
    return CollectMetrics(
        child=reader.child(message.input),
        name=message.name,
        metrics=reader.expressions.named_all(message.metrics),
        origin=origin,
    )
