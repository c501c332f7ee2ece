"""Steps of a DataFrame that Spark's server analyses as soon as they are defined.

The data sets of a pipeline are in no catalog then. Over a table of the same pipeline such a step is
refused until an earlier run has made the table; over a temporary view it is refused always. Which
steps these are was asked of a live Spark (tests/pipelines/steps.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ...pipelines.model import Dataset, Flow, Pipeline
from ..names import name_parts
from ..places import Message, origin_of

if TYPE_CHECKING:
    from ..session import PlannerSession

_RELATION = proto.Relation.DESCRIPTOR.full_name
_STEPS = {
    "with_watermark": "withWatermark()",
    "drop": "drop()",
    "fill_na": "fillna()",
    "drop_na": "dropna()",
    "replace": "replace()",
    "describe": "describe()",
    "summary": "summary()",
    "crosstab": "crosstab()",
    "freq_items": "freqItems()",
    "sample_by": "sampleBy()",
}


def eager_notes(session: PlannerSession, pipeline: Pipeline) -> Iterator[str]:
    """What Spark 4.3 refuses at a pipeline's first run, a sentence for each step."""
    for flow in pipeline.flows:
        found: dict[str, None] = {}
        for step, relation in _steps(flow.query):
            for dataset in _named(pipeline, flow, relation):
                origin = origin_of(relation)
                start = "" if origin is None else f"{origin.file}:{origin.line}: "
                when = "always" if dataset.kind.is_view else "until it is in the catalog"
                found.setdefault(
                    f"{start}Spark 4.3 analyses {step} over '{dataset.name}', which this pipeline"
                    f" defines, at once, and refuses it {when} (TABLE_OR_VIEW_NOT_FOUND)"
                )
        yield from found


def _steps(message: Message) -> Iterator[tuple[str, Message]]:
    """The steps that are analysed at once, outermost first."""
    kind = message.WhichOneof("rel_type")
    if kind is None:
        return
    step = getattr(message, kind)
    if kind in _STEPS:
        yield _STEPS[kind], message
    elif kind == "aggregate" and step.HasField("pivot") and not step.pivot.values:
        yield "pivot() without values", message
    elif kind == "sample" and step.deterministic_order:
        yield "randomSplit()", message
    for relation in inputs(step):
        yield from _steps(relation)


def inputs(step: Message) -> Iterator[Message]:
    """The relations that a step is made of."""
    for field, value in step.ListFields():
        if field.message_type is not None and field.message_type.full_name == _RELATION:
            yield from [value] if isinstance(value, proto.Relation) else value


def _named(pipeline: Pipeline, flow: Flow, relation: Message) -> Iterator[Dataset]:
    kind = relation.WhichOneof("rel_type")
    step = getattr(relation, kind)
    if kind == "read" and step.HasField("named_table"):
        parts = name_parts(step.named_table.unparsed_identifier)
        dataset = pipeline.found(parts, database=flow.database)
        if dataset is not None:
            yield dataset
    for below in inputs(step):
        yield from _named(pipeline, flow, below)
