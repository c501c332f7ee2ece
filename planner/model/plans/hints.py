"""Hints of how to join: as written, and where they belong."""

from __future__ import annotations

from ..expressions.bound import Written
from ..expressions.core import Expression
from ..frozen import dataclass
from .query_plan import UnaryNode, UnresolvedNode

JOIN_STRATEGIES = {
    **dict.fromkeys(("BROADCAST", "BROADCASTJOIN", "MAPJOIN"), "BROADCAST"),
    **dict.fromkeys(("MERGE", "SHUFFLE_MERGE", "MERGEJOIN"), "MERGE"),
    "SHUFFLE_HASH": "SHUFFLE_HASH",
    "SHUFFLE_REPLICATE_NL": "SHUFFLE_REPLICATE_NL",
}
"""The names of hints for joins, in capitals, with the strategy that each asks for."""
STATE_NAME = "STATE_NAME"
"""The hint that names the nearest stateful operator below; Spark takes no notice of it."""


@dataclass(frozen=True, kw_only=True)
class RawParameter(Written):
    """A hint's parameter that is no number and no name."""

    raw: str

    @property
    def text(self) -> str:
        return self.raw


@dataclass(frozen=True, kw_only=True)
class UnresolvedHint(UnresolvedNode, UnaryNode):
    """`/*+ BROADCAST(t) */` over the query that it stands in; no tables: the query itself.

    `parameters` are those of a hint that is no join's: numbers and columns.
    """

    expression_fields = ("parameters",)

    name: str
    tables: tuple[tuple[str, ...], ...] = ()
    parameters: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ResolvedHint(UnaryNode):
    """Asks the nearest join above to treat this side in a way."""

    strategy: str
