"""State that Spark wrote, for `stateplan state show`: that of each operator of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...planner.evolution.stored import StoredOperator
from ...planner.model.errors import DescriptionError, RuntimeFailure
from ..inspection.stored import OF_SPARK, StoredState, StoredStates, chosen, existing
from ..inspection.summary import StateSummary, summarise
from .checkpoint import OtherCheckpoint
from .showing_rows import UNKNOWN, NativeState
from .showing_variables import OPERATORS, NativeVariables


@dataclass(frozen=True)
class NativeStates:
    """The states of all operators of a checkpoint that Spark wrote: as `StoredStates` of ours."""

    checkpoint: OtherCheckpoint

    @property
    def _operators(self) -> Mapping[int, StoredOperator]:
        return self.checkpoint.stored.operators

    @property
    def listed(self) -> str:
        """The operators with their names."""
        return ", ".join(f"{i} ({o.name or UNKNOWN})" for i, o in self._operators.items())

    def choose(self, operator: int | None) -> list[int]:
        """The operator with this id, or all of them.

        Raises:
            RuntimeFailure: there is no such operator.
        """
        return chosen(operator, self._operators, self.checkpoint.root, self.listed)

    def state(self, operator: int, version: int | None = None) -> NativeState:
        """An operator's state at a version, by default the last committed one.

        Raises:
            RuntimeFailure: there is no such operator.
        """
        (operator,) = self.choose(operator)
        number = self.checkpoint.version if version is None else version
        stored = self._operators[operator]
        of_variables = (stored.name or "").startswith(OPERATORS)
        kind = NativeVariables if of_variables else NativeState
        return kind(checkpoint=self.checkpoint, stored=stored, version=number)


def open_states(checkpoint: str) -> StoredStates | NativeStates:
    """The states of a checkpoint, ours or Spark's; nothing is locked and nothing is written.

    Raises:
        StateplanError: there is no checkpoint, or no committed batch.
    """
    existing(checkpoint)
    try:
        found = OtherCheckpoint.open(checkpoint, verified=False)
    except DescriptionError as problem:
        return _named_as_ours(checkpoint, problem)
    if found.is_ours or not found.stored.operators:
        return StoredStates.open(checkpoint)
    return NativeStates(found)


def _named_as_ours(checkpoint: str, problem: DescriptionError) -> StoredStates:
    """Damage in a stateplan checkpoint is named as a start names it; else the problem itself."""
    try:
        states = StoredStates.open(checkpoint)
    except RuntimeFailure as failure:
        if failure.condition == OF_SPARK:
            raise problem from None
        raise
    if not states.operators:
        raise problem from None
    return states


def figures(state: StoredState | NativeState) -> StateSummary:
    """The figures of a state; see `summarise`."""
    return state.summary() if isinstance(state, NativeState) else summarise(state)
