"""Where rows shall lie, as queries ask for it; and samples of rows."""

from __future__ import annotations

from ..errors import AnalysisError
from ..expressions.core import Expression
from ..frozen import dataclass
from .query_plan import UnaryNode


@dataclass(frozen=True, kw_only=True)
class Repartition(UnaryNode):
    """So many partitions: of all rows anew (`shuffle`), or of whole partitions put together."""

    shown = ("num_partitions", "shuffle")

    num_partitions: int
    shuffle: bool


@dataclass(frozen=True, kw_only=True)
class RepartitionByExpression(UnaryNode):
    """By the hash of expressions, or by range if they are SortOrders; round robin without any.

    `num_partitions` None: as many as a shuffle makes.
    """

    expression_fields = ("by",)
    shown = ("by", "num_partitions")

    by: tuple[Expression, ...]
    num_partitions: int | None = None


@dataclass(frozen=True, kw_only=True)
class RebalancePartitions(UnaryNode):
    """Partitions of about the same size, by the hash of expressions if there are any."""

    expression_fields = ("by",)
    shown = ("by", "num_partitions")

    by: tuple[Expression, ...] = ()
    num_partitions: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sample(UnaryNode):
    """A random part of the rows: those whose number from 0 to 1 lies between the bounds."""

    lower: float
    upper: float
    with_replacement: bool = False
    seed: int | None = None


def positive(number: int, hint: str) -> int:
    """A number of partitions that a query asks for.

    Raises:
        AnalysisError: it is not positive; `hint` says what to write.
    """
    if number < 1:
        message = f"requirement failed: Number of partitions ({number}) must be positive."
        raise AnalysisError(None, message, hint=hint)
    return number


PARTITION_HINTS = frozenset(("COALESCE", "REPARTITION", "REPARTITION_BY_RANGE", "REBALANCE"))
"""The names of hints that become such operators."""
