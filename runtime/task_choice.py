"""How many tasks run a batch: what is small is done before a second task could help.

Two tasks need an exchange between what reads the rows and what keeps the state: another stage of
Spark, its tasks and files. Any number of tasks gives the same state, so each batch has its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..physical.plan import SparkPlan, StateStoreWriter

SMALL_INPUT = 1 << 20
"""Bytes: so much is read, grouped and merged in about the time that an exchange takes."""

SMALL_STATE = 8 << 20
"""Bytes of state that a batch reads whole: about as fast."""


@dataclass(frozen=True, kw_only=True)
class TaskChoice:
    """The rule for the batches of a run.

    Attributes:
        most: the number of tasks for a batch of any size.
        fixed: whether the user has said so: then it is the number for every batch.
    """

    most: int
    fixed: bool = False

    def tasks(self, plan: SparkPlan, inputs: Iterable[int | None], state: int | None) -> int:
        """How many tasks run a batch.

        Args:
            plan: the batch's plan.
            inputs: about how many bytes each input has; None: unknown.
            state: about how many bytes the state has; None: unknown.
        """
        if self.fixed or self.most == 1:
            return self.most
        total = 0
        for size in inputs:
            if size is None:
                return self.most
            total += size
        if _reads_state(plan) and (state is None or state > SMALL_STATE):
            return self.most
        return 1 if total <= SMALL_INPUT else self.most


def _reads_state(plan: SparkPlan) -> bool:
    """Whether every batch reads all of the state: in complete mode."""
    return any(writer.output_mode == "complete" for writer in plan.collect(StateStoreWriter))
