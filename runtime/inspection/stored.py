"""The state of a checkpoint as it is stored: operators, versions, columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...planner.model.errors import RuntimeFailure
from ...planner.model.settings.pinned import PINNED, PROVIDER, SHUFFLE_PARTITIONS
from ..checkpoint import STATE_PROVIDER, Checkpoint
from ..failures import state_failure
from ..files import AnyPath, corrupt, failing, location_of, read_whole
from ..state import StateError, StateRows, StateVersion, load_version
from ..state.scan import ShownColumn, flat_rows, flat_schema, scan_state, shown_parts
from ..state_files import OperatorMetadata, columns_path, stored_operators
from .columns import StateColumn, read_columns

STORES = SHUFFLE_PARTITIONS
OF_SPARK = "STATEPLAN_STATE_OF_SPARK"
ROWS_AT_ONCE = 500_000
_MANIFEST = re.compile(r"v(\d{10}).*\.json")


@dataclass(frozen=True, kw_only=True)
class StoredState:
    """One operator's state at one version.

    Attributes:
        operator_id, operator_name: which operator.
        location: where its files lie.
        version: the version; 0 is before the first batch, n after the batch n - 1.
        stores: how many logical stores the query has.
        columns: what its rows hold.
    """

    operator_id: int
    operator_name: str
    location: Any
    version: StateVersion
    stores: int
    columns: tuple[StateColumn, ...]

    @property
    def shown(self) -> tuple[ShownColumn, ...]:
        """The columns in Arrow."""
        return tuple(column.shown for column in self.columns)

    @property
    def schema(self) -> Any:
        """The Arrow schema of its rows as a flat table."""
        return flat_schema(self.shown)

    @property
    def flat_columns(self) -> tuple[StateColumn, ...]:
        """Those that its rows have as a flat table: not the key of a limit's only row."""
        names = self.schema.names
        return tuple(column for column in self.columns if column.name in names)

    @property
    def parts(self) -> int:
        """In how many parts it is read, so that one part fits into memory with ease."""
        return max(1, -(-self.version.total // ROWS_AT_ONCE))

    def rows(self) -> Iterator[tuple[str, StateRows]]:
        """Its rows, some at a time, with the part of the state that they are of.

        Raises:
            RuntimeFailure: a file is missing or corrupt.
        """
        for part in shown_parts(self.shown):
            for number in range(self.parts):
                try:
                    found = scan_state(self.location, self.version, self.parts, number, part)
                except StateError as error:
                    raise state_failure(error) from error
                if found is not None:
                    yield part, found

    def batches(self) -> Iterator[Any]:
        """Its rows as record batches of `schema`."""
        for part, rows in self.rows():
            yield flat_rows(rows, self.shown, self.stores, part)


@dataclass(frozen=True)
class StoredStates:
    """The states of all operators of a checkpoint that has a committed batch."""

    checkpoint: Checkpoint
    operators: dict[int, OperatorMetadata]
    committed: int
    settings: dict[str, str]

    @classmethod
    def open(cls, location: str) -> StoredStates:
        """The states of a checkpoint; nothing is locked and nothing is written.

        Raises:
            RuntimeFailure: there is no checkpoint, no committed batch, or no state of stateplan's.
        """
        checkpoint = existing(location)
        committed = checkpoint.commit_log.latest()
        if committed is None:
            raise _no_batch(checkpoint)
        offsets = checkpoint.offsets(committed)
        if offsets is None:
            raise corrupt(checkpoint.offset_log.path(committed), "it is missing")
        settings = dict(offsets.metadata.conf)
        operators = stored_operators(checkpoint.state_directory)
        if operators:
            check_provider(checkpoint, settings)
        return cls(checkpoint, operators, committed, settings)

    @property
    def stores(self) -> int:
        """How many stores the query has now."""
        return int(self.settings.get(STORES, PINNED[STORES]))

    @property
    def listed(self) -> str:
        """The operators with their names."""
        return ", ".join(f"{i} ({m.operatorInfo.operatorName})" for i, m in self.operators.items())

    def choose(self, operator: int | None) -> list[int]:
        """The operator with this id, or all of them.

        Raises:
            RuntimeFailure: there is no such operator.
        """
        return chosen(operator, self.operators, self.checkpoint.root, self.listed)

    def state(self, operator: int, version: int | None = None) -> StoredState:
        """An operator's state at a version, by default the last committed one.

        Raises:
            RuntimeFailure: there is no such operator or version, or a file cannot be used.
        """
        (operator,) = self.choose(operator)
        kept = self.versions(operator)
        number = self.committed + 1 if version is None else version
        if number not in kept and version is not None:
            raise _no_version(operator, version, kept)
        directory = self.checkpoint.state_directory / str(operator)
        location = directory / "runs"
        try:
            found = load_version(location, number, self.stores, self._attempt(number))
        except StateError as error:
            raise state_failure(error) from error
        return StoredState(
            operator_id=operator,
            operator_name=self.operators[operator].operatorInfo.operatorName,
            location=location,
            version=found,
            stores=self.stores,
            columns=_columns(columns_path(directory)),
        )

    def versions(self, operator: int) -> list[int]:
        """The versions of an operator's state that are kept and committed."""
        directory = self.checkpoint.state_directory / str(operator) / "runs"
        batches = set(self.checkpoint.commit_log.ids())
        found = filter(None, (_MANIFEST.fullmatch(name) for name in directory.names()))
        return sorted({int(match[1]) for match in found if int(match[1]) - 1 in batches})

    def _attempt(self, version: int) -> str | None:
        commit = self.checkpoint.commit(version - 1) if version else None
        return None if commit is None else commit.stateAttempt


def chosen(
    operator: int | None, known: Collection[int], checkpoint: object, listed: str
) -> list[int]:
    """An operator that a checkpoint has state of, or all of them; `listed` are those it has.

    Raises:
        RuntimeFailure: there is no such operator.
    """
    if operator is None:
        return list(known)
    if operator in known:
        return [operator]
    raise RuntimeFailure(
        "STATEPLAN_NO_SUCH_OPERATOR",
        f"The checkpoint '{checkpoint}' has no state of an operator {operator}.",
        hint=f"It has that of {listed}."
        if listed
        else "Its query keeps no state; is it the right directory?",
    )


def existing(location: str) -> Checkpoint:
    """A checkpoint that is there.

    Raises:
        RuntimeFailure: there is none, or a file is corrupt.
    """
    root = location_of(location, "the checkpoint")
    with failing(root):
        there = {"metadata", "offsets"} & set(root.names())
    if not there:
        raise RuntimeFailure(
            "STATEPLAN_NO_CHECKPOINT",
            f"There is no checkpoint at '{root}'.",
            hint="Name the directory that the query has as its checkpoint: it holds 'metadata', "
            "'offsets' and 'commits'.",
        )
    return Checkpoint.open(root)


def _columns(path: AnyPath) -> tuple[StateColumn, ...]:
    try:
        return read_columns(read_whole(path).decode())
    except FileNotFoundError:
        raise RuntimeFailure(
            "STATEPLAN_STATE_NOT_DESCRIBED",
            f"The columns of the state are not described: there is no file '{path}'.",
            hint="The checkpoint is from an earlier stateplan. Run the query once: that writes it.",
        ) from None
    except ValueError as problem:
        raise corrupt(path, str(problem)) from None


def _no_batch(checkpoint: Checkpoint) -> RuntimeFailure:
    return RuntimeFailure.of(
        "STDS_COMMITTED_BATCH_UNAVAILABLE",
        checkpointLocation=checkpoint.root,
        hint="Run the query until it has committed a batch.",
    )


def check_provider(checkpoint: Checkpoint, settings: Mapping[str, str]) -> None:
    """Check that the state of a checkpoint is ours.

    Raises:
        RuntimeFailure: Spark wrote it.
    """
    provider = settings.get(PROVIDER, "Spark's default")
    if provider != STATE_PROVIDER:
        raise RuntimeFailure(
            OF_SPARK,
            f"The state of the checkpoint '{checkpoint.root}' was written by Spark ('{provider}').",
            hint='Spark reads it: spark.read.format("statestore").load(checkpoint). `stateplan '
            "state import` makes a checkpoint of stateplan's from it.",
        )


def _no_version(operator: int, version: int, kept: Sequence[int]) -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_NO_SUCH_VERSION",
        f"Version {version} of the state of operator {operator} is not kept.",
        hint=f"Kept are the versions {ranges_text(kept)}; version n is the state after batch n - 1."
        if kept
        else "No version is kept: the files of the state are gone.",
    )


def ranges_text(numbers: Sequence[int]) -> str:
    """`1 to 4, 7`."""
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    pairs = zip(starts, ends, strict=True)
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in pairs)
