"""`stateplan state export`: a query that ran here goes on in Structured Streaming.

The new checkpoint has the query's id, the logs of its sources, the offsets of the last batches and
Spark's own files of its operators; each partition of each store gets one snapshot of the state at
the last commit: HDFS-backed, or of RocksDB where the query's settings ask for it, or a processor's
variables need it. The commit comes last.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...physical.plan import StateStoreWriter
from ...physical.python_state import TransformWithStateInPySparkExec
from ...physical.state import KeyForm
from ...planner.incremental_execution import IncrementalExecution
from ...planner.model.errors import DescriptionError, RuntimeFailure
from ...planner.model.settings.pinned import PROVIDER, STATE_ENCODING
from ..checkpoint import Checkpoint, CommitMetadata
from ..claim import Holder
from ..failures import state_failure
from ..files import write_new
from ..kernels.user_state.processor import ProcessorKernel
from ..state import Location, StateError, StateRows, load_version
from ..state.scan import scan_state
from ..state.version import StateVersion, task_of
from ..state_files import write_spark_files
from .checkpoint import HDFS_PROVIDER, OtherCheckpoint, running_states
from .families import families
from .family_files import write_family_files
from .hdfs_files import WRITTEN_CODEC, write_snapshot
from .operators import DEFAULT, Parts, RunningState, StoreRows, Stores, give_state
from .rocksdb_files import (
    ROCKSDB_PROVIDER,
    FamilyRows,
    as_elements,
    write_database,
    write_keys,
    write_values,
)
from .state_import import Asked, Taken, check_query, execution_of, new_directory
from .unsafe_writing import write_rows

if TYPE_CHECKING:
    from ...physical.state import StateStoreSchema

_GIVEN = {
    PROVIDER: HDFS_PROVIDER,
    "spark.sql.streaming.stateStore.compression.codec": WRITTEN_CODEC,
    STATE_ENCODING: "unsaferow",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "false",
    "spark.sql.streaming.join.stateFormatVersion": "2",
}
"""The settings that say in which form the state is, whatever it was before."""
_IN_ROCKSDB = {
    PROVIDER: ROCKSDB_PROVIDER,
    "spark.sql.streaming.stateStore.rocksdb.formatVersion": "5",
    "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion": "2",
}


def export_state(checkpoint: str, to: str, query: Asked, allow: Collection[str] = ()) -> Taken:
    """Make a checkpoint that Spark goes on with from a stateplan one, for the same query.

    Args:
        checkpoint: our checkpoint, of a query that is stopped.
        to: the directory of the new one, which must be empty or not there.
        query: the query.
        allow: as for `import_state`.

    Raises:
        StateplanError: the checkpoint is not ours or not usable, the query is not its query, its
            state is not converted, or the directory is in use.
    """
    own = OtherCheckpoint.open(checkpoint)
    if not own.is_ours:
        raise DescriptionError(
            "STATEPLAN_STATE_OF_SPARK",
            f"The state of the checkpoint '{own.root}' is Spark's already ('{own.provider}').",
            hint="Start the query in Spark on it as it is; `state import` makes a stateplan "
            "checkpoint.",
        )
    execution = execution_of(query)
    check_query(execution, own, allow)  # in the form in which a start keeps the query there
    asked = execution.conf.get(PROVIDER)
    given = replace(own, settings=own.settings | _GIVEN)
    planned = given.planned(execution)
    if asked == ROCKSDB_PROVIDER or planned.executed_plan.collect(TransformWithStateInPySparkExec):
        given = replace(given, settings=given.settings | _IN_ROCKSDB)
        planned = given.planned(execution)
    _check_ids(own, planned)
    states = running_states(planned)
    root = new_directory(to)
    source = Checkpoint.open(own.root, Holder(run_id=str(uuid.uuid4()), name="state export"))
    try:
        found = {number: _parts(own, number, state) for number, state in states.items()}
        _write_all(given, root, states, found)
    finally:
        source.release()
    names = {
        number: (state.operator.operator_name, sum(map(len, found[number].values())))
        for number, state in states.items()
    }
    return Taken(operators=names, next_batch=own.version)


def _check_ids(own: OtherCheckpoint, planned: IncrementalExecution) -> None:
    """Spark knows a stateful operator by its place: names may have kept other ids.

    Raises:
        RuntimeFailure: they have.
    """
    if own.stored.names is None:
        return
    writers = planned.executed_plan.collect(StateStoreWriter)
    ids = [writer.state_info.operator_id for writer in writers if writer.state_info]
    plain = IncrementalExecution(
        planned.logical,
        catalog=planned.catalog,
        output_mode=planned.output_mode,
        conf=planned.conf,
        ids=planned._ids,
    )
    counted = plain.executed_plan.collect(StateStoreWriter)
    if ids != [writer.state_info.operator_id for writer in counted if writer.state_info]:
        raise RuntimeFailure(
            "STATEPLAN_OPERATOR_NAMES",
            f"The stateful operators of the checkpoint '{own.root}' are known by name, and stand "
            "in other places than when they were new.",
            hint="Spark knows them by their places alone: start it with a new checkpoint.",
        )


def _write_all(
    own: OtherCheckpoint,
    root: Location,
    states: Mapping[int, RunningState],
    found: Mapping[int, Parts],
) -> None:
    stores = {n: give_state(s.operator, s, found[n]) for n, s in states.items()}
    write_new(root / "metadata", f'{{"id":"{own.query_id}"}}'.encode())
    target = Checkpoint.open(root)
    own.copy_sources(root)
    for batch in own.planned_batches:
        seq = own.offsets(batch)
        metadata = seq.metadata.model_copy(update={"conf": own.settings})
        target.add_offsets(batch, replace(seq, metadata=metadata))
    for number, state in states.items():
        folder = target.state_directory / str(number)
        if isinstance(state.kernel, ProcessorKernel):
            _write_families(folder, state, stores[number], own)
            continue
        write_spark_files(folder, state.operator)
        for schema in state.operator.state_stores:
            _write(folder, state.operator, schema, stores[number][schema.name], own)
    target.add_commit(
        own.committed, CommitMetadata(nextBatchWatermarkMs=own.last_commit.nextBatchWatermarkMs)
    )


def _parts(own: OtherCheckpoint, number: int, state: RunningState) -> Parts:
    """Our state of an operator at the last commit, by part, marks taken in."""
    location = own.root / "state" / str(number) / "runs"
    try:
        version = load_version(location, own.version, own.stores, own.last_commit.stateAttempt)
        return {
            part: _rows(location, version, part, state)
            for part in state.kernel.layouts
            if not part.endswith(("-matched", "-gone"))
        }
    except StateError as error:
        raise state_failure(error) from error


def _rows(location: Location, version: StateVersion, part: str, state: RunningState) -> StateRows:
    found = scan_state(location, version, 1, 0, part)
    return state.kernel.layouts[part].empty() if found is None else found


def _write(
    directory: Location,
    operator: StateStoreWriter,
    schema: StateStoreSchema,
    rows: StoreRows,
    own: OtherCheckpoint,
) -> None:
    """Write a snapshot for each partition of a store."""
    if own.provider == ROCKSDB_PROVIDER:
        form = KeyForm(prefix=operator.num_cols_prefix_key)
        keys = write_keys(rows.keys, schema.key, rows.count, form)
        values = write_values(rows.values, schema.value, rows.count)
    else:
        keys = write_rows(rows.keys, schema.key, rows.count)
        values = write_rows(rows.values, schema.value, rows.count)
    for partition, at in _partitions(rows, own).items():
        folder = directory / str(partition)
        place = folder if schema.name == DEFAULT else folder / schema.name
        some, their = [keys[i] for i in at], [values[i] for i in at]
        if own.provider == ROCKSDB_PROVIDER:
            whole = FamilyRows(name=None, keys=some, values=their)
            write_database(place, own.version, [whole])
        else:
            write_snapshot(place, own.version, dict(zip(some, their, strict=True)))


def _write_families(
    directory: Location, state: RunningState, rows: Stores, own: OtherCheckpoint
) -> None:
    """Write a database for each partition, with the families of a processor's variables."""
    operator, kernel = state.operator, state.kernel
    assert isinstance(operator, TransformWithStateInPySparkExec)
    assert isinstance(kernel, ProcessorKernel)
    written = families(operator, kernel)
    write_family_files(directory, operator, kernel, written)
    found: dict[int, list[FamilyRows]] = {number: [] for number in range(own.stores)}
    for family in written:
        if family.name not in rows:
            continue
        own_rows = rows[family.name]
        keys = write_keys(own_rows.keys, family.key, own_rows.count, family.form)
        values = write_values(own_rows.values, family.value, own_rows.count)
        if family.merged:
            values = as_elements(values)
        for partition, at in _partitions(own_rows, own).items():
            found[partition].append(
                FamilyRows(
                    name=family.name,
                    keys=[keys[i] for i in at],
                    values=[values[i] for i in at],
                    merged=family.merged,
                )
            )
    for partition, rows_there in found.items():
        write_database(directory / str(partition), own.version, rows_there)


def _partitions(rows: StoreRows, own: OtherCheckpoint) -> dict[int, list[int]]:
    """Which rows each partition has; a store of all rows is in partition 0 alone."""
    if rows.places is None:
        return {0: list(range(rows.count))}
    owners = task_of(rows.places, own.stores)
    return {n: np.flatnonzero(owners == n).tolist() for n in range(own.stores)}
