"""The nodes of the runtime plan that look at the rows that pass, for figures of the batch."""

from __future__ import annotations

from ...planner.model.expressions.core import Expression
from ...planner.model.frozen import dataclass
from ...planner.model.plans.query_plan import GivesAttributes
from .nodes import Columns, RuntimeNode, UnaryRuntimeNode
from .specs import BufferedFunction


@dataclass(frozen=True, kw_only=True)
class ObserveEventTime(UnaryRuntimeNode):
    """Notes the least, greatest and mean event time of the rows that pass, and their number."""

    expression_fields = ("event_time",)

    event_time: Expression
    node_id: str


@dataclass(frozen=True, kw_only=True)
class ObserveMetrics(UnaryRuntimeNode):
    """Aggregates that the user asks for with `observe`, over the rows that pass."""

    expression_fields = ("metrics",)

    name: str
    metrics: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class ObserveBuffers(RuntimeNode):
    """As ObserveMetrics, where the engine does not aggregate as Spark does: a kernel's buffers.

    Attributes:
        child: the rows, which pass.
        results: the metrics, over the one row of Observed.
        name: the name of the `observe`.
        functions: the aggregate functions.
        made: the columns of which the buffers of single rows are made.
        sources: per buffer which of them makes it; None: it is 1.
    """

    child_fields = ("child", "results")

    child: RuntimeNode
    results: RuntimeNode
    name: str
    functions: tuple[BufferedFunction, ...]
    made: Columns
    sources: tuple[int | None, ...]

    @property
    def output(self) -> Columns:
        return self.child.output


@dataclass(frozen=True, kw_only=True)
class Observed(GivesAttributes, RuntimeNode):
    """The one row of what an ObserveBuffers has made of all rows."""

    name: str
    attributes: Columns


@dataclass(frozen=True, kw_only=True)
class CountRows(UnaryRuntimeNode):
    """Counts the rows of a source, where nothing else does."""

    source: str
