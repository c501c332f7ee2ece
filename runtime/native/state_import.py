"""`stateplan state import`: a query that Spark ran goes on here.

The new checkpoint has the query's id, the logs of its sources, the offsets of the last batches, and
its state at the last commit as one stateplan version. The commit comes last: until then the
directory is no checkpoint that a query could start from. Nothing in Spark's checkpoint is changed.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...planner.evolution.check import check_against
from ...planner.evolution.printing import report_text
from ...planner.incremental_execution import IncrementalExecution
from ...planner.model.errors import DescriptionError, RuntimeFailure
from ...planner.model.settings.conf import Conf
from ...planner.model.settings.pinned import PROVIDER, SHUFFLE_PARTITIONS
from ...planner.query import Query
from ..checkpoint import STATE_PROVIDER, Checkpoint, CommitMetadata
from ..claim import Holder
from ..evolution import keep_query
from ..failures import state_failure
from ..files import failing, location_of, write_new
from ..kernels.user_state.processor import ProcessorKernel
from ..state import (
    Location,
    RunInfo,
    StateError,
    StateRows,
    StateVersion,
    save_version,
    schema_text,
)
from ..state.written import write_run
from ..state_files import write_state_files
from .checkpoint import OtherCheckpoint, running_states
from .operators import Parts, RunningState, take_state
from .stores import OpenSpark, store_rows
from .variables import variable_stores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Asked = Query | IncrementalExecution


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What was taken over: by operator id its name and rows; the batch that comes next."""

    operators: dict[int, tuple[str, int]]
    next_batch: int


def import_state(
    checkpoint: str,
    to: str,
    query: Asked,
    spark: SparkSession | None = None,
    allow: Collection[str] = (),
) -> Taken:
    """Make a stateplan checkpoint from one that Spark wrote, for the same query.

    Args:
        checkpoint: Spark's checkpoint, of a query that is stopped.
        to: the directory of the new one, which must be empty or not there.
        query: the query.
        spark: a session, where Spark has to read the files of the state; None: one is started.
        allow: verdicts of `check` that do not stop it: `differs`, as where columns of the state
            have other names.

    Raises:
        StateplanError: the checkpoint is ours already or not usable, the query is not its query,
            its state is not converted, or the directory is in use.
    """
    native = OtherCheckpoint.open(checkpoint)
    if native.is_ours:
        raise DescriptionError(
            "STATEPLAN_STATE_IS_OURS",
            f"The state of the checkpoint '{native.root}' is stateplan's already.",
            hint="Run the query on it as it is; `state export` makes one of Spark's.",
        )
    check_query(query, native, allow)
    execution = execution_of(query)
    planned = native.planned(execution)
    states = running_states(planned)
    parts = {n: _taken(native, state, _opening(spark)) for n, state in states.items()}
    root = new_directory(to)
    _write(native, root, planned, execution.conf, states, parts)
    found = {
        number: (state.operator.operator_name, sum(map(len, parts[number].values())))
        for number, state in states.items()
    }
    return Taken(operators=found, next_batch=native.version)


def execution_of(query: Asked) -> IncrementalExecution:
    """The phases of a query."""
    return query if isinstance(query, IncrementalExecution) else query.execution


def _opening(spark: SparkSession | None) -> OpenSpark:
    def opened() -> SparkSession:
        from ..engines.opening import open_session

        return open_session("spark", spark=spark)[0]

    return opened


def check_query(query: Asked, checkpoint: OtherCheckpoint, allow: Collection[str]) -> None:
    """Refuse a query whose state this is not; `allow` are verdicts of `check` that do not count.

    Raises:
        RuntimeFailure: Spark would refuse it, or its own plan in the checkpoint says otherwise.
    """
    report = check_against(query, checkpoint.stored)
    if report.verdict == "refused" or (report.verdict == "differs" and "differs" not in allow):
        raise RuntimeFailure(
            report.condition or "STATEPLAN_QUERY_CHANGED",
            f"The checkpoint '{checkpoint.root}' is not this query's. {report_text(report)}",
            hint="Give the query that wrote the checkpoint, as it was; where it `differs` by names "
            "alone, allow that.",
        )


def new_directory(place: str) -> Location:
    """A directory in which nothing is yet.

    Raises:
        DescriptionError: something is.
    """
    root = location_of(place, "the new checkpoint")
    with failing(root):
        if root.storage.kind(root.path) == "file" or root.names():
            raise DescriptionError(
                "STATEPLAN_DIRECTORY_IN_USE",
                f"There is something at '{root}' already.",
                hint="Name a new directory with --to.",
            )
    return root


def _taken(native: OtherCheckpoint, state: RunningState, spark: OpenSpark) -> Parts:
    operator = state.operator
    assert operator.state_info is not None
    number = operator.state_info.operator_id
    if isinstance(state.kernel, ProcessorKernel):
        return take_state(operator, state, variable_stores(native, number, state.kernel, spark()))
    # Where all rows lie in one place nobody opens the other stores.
    expected = 1 if state.node.single else native.stores
    stores = {
        store.name: store_rows(
            native, number, store.name, store.key, store.value, spark, expected=expected
        )
        for store in operator.state_stores
    }
    return take_state(operator, state, stores)


def _write(
    native: OtherCheckpoint,
    root: Location,
    planned: IncrementalExecution,
    asked: Conf,
    states: dict[int, RunningState],
    parts: dict[int, Parts],
) -> None:
    attempt = str(uuid.uuid4())
    write_new(root / "metadata", f'{{"id":"{native.query_id}"}}'.encode())
    target = Checkpoint.open(root, Holder(run_id=attempt, name="state import"))
    try:
        native.copy_sources(root)
        pinned = native.settings | {PROVIDER: STATE_PROVIDER}
        if states:
            pinned[SHUFFLE_PARTITIONS] = str(native.stores)
        for batch in native.planned_batches:
            seq = native.offsets(batch)
            metadata = seq.metadata.model_copy(update={"conf": pinned})
            target.add_offsets(batch, replace(seq, metadata=metadata))
        try:
            for number, state in states.items():
                runs = target.state_directory / str(number) / "runs"
                _save(runs, native, state, parts[number], attempt)
        except StateError as error:
            raise state_failure(error) from error
        write_state_files(target.state_directory, planned.executed_plan)
        keep_query(target, planned, asked)
        attempt_of_state = attempt if states else None
        commit = CommitMetadata(
            nextBatchWatermarkMs=native.last_commit.nextBatchWatermarkMs,
            stateAttempt=attempt_of_state,
        )
        target.add_commit(native.committed, commit)
    finally:
        target.release()


def _save(
    location: Location, native: OtherCheckpoint, state: RunningState, parts: Parts, attempt: str
) -> None:
    """Write an operator's state as one version: a run a part."""
    layouts = state.kernel.layouts
    runs = tuple(
        _run(location, native.version, part, rows, state, attempt)
        for part, rows in parts.items()
        if len(rows)
    )
    version = StateVersion(
        version=native.version,
        stores=native.stores,
        schema=schema_text(layouts),
        total=sum(map(len, parts.values())),
        runs=runs,
    )
    save_version(location, version, attempt, retain=1)


def _run(
    location: Location, version: int, part: str, rows: StateRows, state: RunningState, attempt: str
) -> RunInfo:
    name = f"r{version:010d}-0-{attempt}{'-' if part else ''}{part}.arrow"
    info = {"sequence": version, "tasks": 1, "task": 0, "evicted": None, "part": part}
    return write_run(location, name, rows, state.kernel.layouts[part], info)
