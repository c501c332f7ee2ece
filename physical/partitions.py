"""Rows dealt out anew or put together, parts of them, and ranges of numbers."""

from __future__ import annotations

from ..planner.model.expressions.core import AttributeReference
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.plans.query_plan import GivesAttributes
from .distribution import Partitioning, SinglePartition, UnknownPartitioning
from .plan import SparkPlan, UnaryExec
from .text import arguments, counted

_DEFAULT_SLICES = 1  # one core, as where nothing says otherwise


@dataclass(frozen=True, kw_only=True)
class RangeExec(GivesAttributes, SparkPlan):
    """Whole numbers from `start` to before `end`; `slices` None: as many as there are cores."""

    expression_fields = ("attributes",)
    supports_codegen = True

    start: int
    end: int
    step: int
    slices: int | None
    attributes: tuple[AttributeReference, ...]

    def arguments(self, max_fields: int) -> str:
        splits = _DEFAULT_SLICES if self.slices is None else self.slices
        return f"({self.start}, {self.end}, step={self.step}, splits={splits})"

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        splits = "None" if self.slices is None else f"Some({self.slices})"
        text = f"Range ({self.start}, {self.end}, step={self.step}, splits={splits})"
        return counted("Output", self.output), ("Arguments", text)


@dataclass(frozen=True, kw_only=True)
class CoalesceExec(UnaryExec):
    """Partitions put together until there are so many at most."""

    num_partitions: int

    def arguments(self, max_fields: int) -> str:
        return str(self.num_partitions)

    @cached_property
    def output_partitioning(self) -> Partitioning:
        one = self.num_partitions == 1
        return SinglePartition() if one else UnknownPartitioning(self.num_partitions)


@dataclass(frozen=True, kw_only=True)
class SampleExec(UnaryExec):
    """A random part of the rows."""

    keeps_partitioning = True

    lower: float
    upper: float
    with_replacement: bool
    seed: int | None

    def arguments(self, max_fields: int) -> str:
        seed = None if self.seed is None else str(self.seed)
        flag = "true" if self.with_replacement else "false"
        return arguments(str(self.lower), str(self.upper), flag, seed)

    @property
    def supports_codegen(self) -> bool:
        return not self.with_replacement
