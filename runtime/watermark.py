"""The query's watermark, from what each EventTimeWatermark operator has seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..physical.basic import EventTimeWatermarkExec
from ..planner.model.errors import DescriptionError
from ..planner.model.settings.pinned import WATERMARK_POLICY
from .engines.context import EventTimeStats


class WatermarkTracker:
    """Keeps the global watermark, in milliseconds since 1970. It never goes back.

    A new tracker starts at 0 with nothing seen. At a restart the global watermark is set from the
    checkpoint, while each operator's own maximum is forgotten, as in Spark: with the policy `min`
    the global one then stands still until every operator has seen rows again. An operator that the
    optimizer removes counts too, as in Spark: it never sees rows.

    Args:
        policy: which operator's watermark is the global one: `min` or `max`.
        operators: the ids of the analyzed query's operators.
    """

    def __init__(self, policy: str = "min", operators: Iterable[str] = ()) -> None:
        if policy.lower() not in ("min", "max"):
            raise DescriptionError.of(
                "INVALID_CONF_VALUE.REQUIREMENT",
                confValue=policy,
                confName=WATERMARK_POLICY,
                confRequirement="It must be min or max.",
                hint=f"Set {WATERMARK_POLICY} to min or max.",
            )
        self._choose = max if policy.lower() == "max" else min
        self._by_operator = dict.fromkeys(operators, 0)
        self.current_ms = 0

    @property
    def watches(self) -> bool:
        """Whether the query has a watermark operator, be it one that the optimizer removes."""
        return bool(self._by_operator)

    def restore(self, watermark_ms: int) -> None:
        """Take the global watermark from a checkpoint."""
        self.current_ms = max(self.current_ms, watermark_ms)

    def update(
        self,
        operators: Iterable[EventTimeWatermarkExec],
        seen: Mapping[str, EventTimeStats | None],
    ) -> int:
        """Move the watermark by what a batch saw, and return it.

        Args:
            operators: the watermark operators of the batch's executed plan.
            seen: by `node_id`, the batch's event times there; None or missing without rows.
        """
        for operator in operators:
            own = self._by_operator.setdefault(operator.node_id, 0)
            stats = seen.get(operator.node_id)
            if stats is not None and stats.count > 0:
                self._by_operator[operator.node_id] = max(own, stats.max_ms - operator.delay_ms)
        if self._by_operator:
            self.current_ms = max(self.current_ms, self._choose(self._by_operator.values()))
        return self.current_ms
