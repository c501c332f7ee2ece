"""From an executed plan to the first runtime plan, operator by operator.

`translate` is open for new operators. What has no entry runs as it is, if the engines know it.
An exchange of the executed plan has no node: each stateful operator asks for its own, into as many
tasks as run the batch.
"""

from __future__ import annotations

from functools import singledispatch

from ...physical.aggregate import WindowExec, WindowGroupLimitExec
from ...physical.basic import (
    AdaptiveSparkPlanExec,
    EventTimeWatermarkExec,
    ExpandExec,
    FilterExec,
    ProjectExec,
    StreamingRelationExec,
)
from ...physical.exchange import ShuffleExchangeExec
from ...physical.plan import SparkPlan
from ...physical.scans import ColumnarToRowExec, FileSourceScanExec
from ...physical.stateful import StreamingLocalLimitExec
from ...planner.model.expressions.core import Alias, GetStructField
from ...planner.model.expressions.predicates import split_conjuncts
from ...planner.model.functions.build import struct_of
from ...planner.model.schemas.types import StructType
from ...planner.model.tree import replace
from .facts import BatchFacts
from .nodes import AsIs, Expand, ReadSource, ReadTable, RuntimeNode, Select
from .observing_nodes import ObserveEventTime
from .reading import given_to_reader, metadata_parts

_ASKED_FOR = ("REPARTITION_BY_NUM", "REPARTITION_BY_COL")
"""Exchanges that the user asked for."""


@singledispatch
def translate(node: SparkPlan, facts: BatchFacts) -> RuntimeNode:
    """The runtime plan of an operator and all below it, before any pass.

    Raises:
        RuntimeFailure: a function of it cannot be run.
        PlanningError: several event times come to a stateful operator.
    """
    return AsIs(inputs=tuple(translate(child, facts) for child in node.children), operator=node)


@translate.register(StreamingRelationExec)
def _(node: StreamingRelationExec, facts: BatchFacts) -> RuntimeNode:
    if not node.shows_metadata:
        return ReadSource(name=node.name, attributes=node.attributes)
    *own, metadata = node.attributes
    kind = metadata.data_type
    assert isinstance(kind, StructType)
    parts = metadata_parts(kind.fields)
    fields = zip(kind.fields, parts, strict=True)
    made = struct_of((field.name, part) for field, part in fields)
    shown = Alias(child=made, name=metadata.name, expr_id=metadata.expr_id)
    source = ReadSource(name=node.name, attributes=(*own, *parts), metadata=len(parts))
    return Select(child=source, columns=(*own, shown))


@translate.register(FileSourceScanExec)
def _(node: FileSourceScanExec, facts: BatchFacts) -> RuntimeNode:
    given = () if facts.engine.prunes else given_to_reader(node.name, node.data_filters, facts)
    return ReadTable(name=node.name, attributes=node.attributes, given=given)


@translate.register(ProjectExec)
def _(node: ProjectExec, facts: BatchFacts) -> RuntimeNode:
    return Select(child=translate(node.child, facts), columns=node.project_list)


@translate.register(ExpandExec)
def _(node: ExpandExec, facts: BatchFacts) -> RuntimeNode:
    below = translate(node.child, facts)
    return Expand(child=below, projections=node.projections, attributes=node.attributes)


@translate.register(WindowExec)
def _(node: WindowExec, facts: BatchFacts) -> RuntimeNode:
    below = translate(node.child, facts)
    return Select(child=below, columns=(*node.child.output, *node.windows))


@translate.register(FilterExec)
def _(node: FilterExec, facts: BatchFacts) -> RuntimeNode:
    conditions = tuple(split_conjuncts(node.condition))
    return Select(child=translate(node.child, facts), conditions=conditions, columns=node.output)


@translate.register(EventTimeWatermarkExec)
def _(node: EventTimeWatermarkExec, facts: BatchFacts) -> RuntimeNode:
    time = node.event_time
    observed = time
    if isinstance(time.data_type, StructType):
        names = [field.name for field in time.data_type.fields]
        end = names.index("end")
        observed = GetStructField(child=time, ordinal=end, name="end")  # type: ignore[assignment]
    below = translate(node.child, facts)
    return ObserveEventTime(child=below, event_time=observed, node_id=node.node_id)


@translate.register(AdaptiveSparkPlanExec)
def _(node: AdaptiveSparkPlanExec, facts: BatchFacts) -> RuntimeNode:
    return translate(node.child, replace(facts, adaptive=True))


@translate.register(ColumnarToRowExec)
@translate.register(StreamingLocalLimitExec)
@translate.register(WindowGroupLimitExec)
def _(node: SparkPlan, facts: BatchFacts) -> RuntimeNode:
    # A StreamingLocalLimit reads its input to the end, since state lies below; an engine's own
    # limit would stop early. The exchange that always follows it reads everything. What a
    # WindowGroupLimit leaves out early a filter above leaves out anyway.
    return translate(node.children[0], facts)


@translate.register(ShuffleExchangeExec)
def _(node: ShuffleExchangeExec, facts: BatchFacts) -> RuntimeNode:
    below = translate(node.child, facts)
    return AsIs(inputs=(below,), operator=node) if node.origin in _ASKED_FOR else below
