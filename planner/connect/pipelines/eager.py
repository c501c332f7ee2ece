"""Steps of a DataFrame that Spark's server analyses as soon as they are defined.

The data sets of a pipeline are in no catalog then. Over a table of the same pipeline such a step is
refused until an earlier run has made the table; over a temporary view it is refused always. Which
steps these are was asked of a live Spark (tests/pipelines/cases.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql.connect import proto

from ....rules.analysis.refusals.checks import unknown_table
from ...model.errors import StateplanError
from ...model.expressions.core import Origin
from ...model.frozen import dataclass
from ...model.plans.relations import UnresolvedRelation
from ...pipelines.model import Dataset, Flow, Pipeline
from ..names import name_parts
from ..places import Message, origin_of, placed, where_from

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


@dataclass(frozen=True)
class EagerStep:
    """A step over a data set of the pipeline that Spark's server analyses at once.

    Attributes:
        step: how people call it.
        dataset: what it reads.
        origin: its line of code.
    """

    step: str
    dataset: Dataset
    origin: Origin | None

    def note(self) -> str:
        """What Spark 4.3 does at the first run."""
        return (
            f"{where_from(self.origin)}Spark 4.3 analyses {self.step} over '{self.dataset.name}',"
            " which this pipeline defines, at once, and refuses it until it is in the catalog"
            " (TABLE_OR_VIEW_NOT_FOUND)"
        )

    def refusal(self) -> StateplanError:
        """A view of the pipeline is never in the catalog."""
        error = unknown_table(UnresolvedRelation(parts=self.dataset.identifier))
        assert error is not None
        error.hint = (
            f"Spark 4.3 analyses {self.step} when it is defined, and the pipeline's view"
            f" '{self.dataset.name}' is not there yet: move {self.step} into the view, or make it a"
            " table."
        )
        return placed(error, self.origin)


def eager_steps(pipeline: Pipeline) -> Iterator[EagerStep]:
    """The steps of all flows."""
    for flow in pipeline.flows:
        found: dict[EagerStep, None] = {}
        for step, relation in _steps(flow.query):
            for dataset in _named(pipeline, flow, relation):
                found.setdefault(EagerStep(step, dataset, origin_of(relation)))
        yield from found


def _steps(message: object) -> Iterator[tuple[str, Message]]:
    """The steps that are analysed at once, outermost first."""
    if not isinstance(message, proto.Relation):
        return
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
