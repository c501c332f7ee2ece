"""The state that a batch starts from, and what its operators' tasks get of it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.stateful import StreamingGlobalLimitExec
from ...planner.model.errors import InternalError
from ..failures import state_failure
from ..kernels.kernel import Kernel
from ..kernels.limit import LimitKernel, passed_before
from ..kernels.task import TaskSpec, open_stores
from ..plan.facts import STATE_ROWS, Figures
from ..state import StateError, StateVersion, load_version
from ..state.locations import located
from ..state.manifests import delete_attempt
from ..state.storage import Location
from .context import BatchContext


class StateBefore:
    """The state of a plan's operators before a batch.

    Args:
        plan: the executed plan of the batch.
        context: the attempt.
    """

    def __init__(self, plan: SparkPlan, context: BatchContext) -> None:
        self._context = context
        self._root = located(context.state_location)
        self._writers = {operator_id(w): w for w in plan.collect(StateStoreWriter)}
        self._versions: dict[int, StateVersion] = {}

    def figures(self) -> dict[int, Figures]:
        """What each operator's version says of the batch, by the operator's id."""
        versions = {id_: self._version(writer) for id_, writer in self._writers.items()}
        return {
            id_: Figures.of({**found.extra, STATE_ROWS: found.total})
            for id_, found in versions.items()
        }

    def passed(self) -> dict[int, int]:
        """How many rows each limit has let through since the query began, by its operator's id."""
        return {
            id_: self._passed(writer)
            for id_, writer in self._writers.items()
            if isinstance(writer, StreamingGlobalLimitExec)
        }

    def _passed(self, limit: StreamingGlobalLimitExec) -> int:
        try:
            return passed_before(open_stores(self.limit_spec(limit, limit.limit), 0)[""])
        except StateError as error:
            raise state_failure(error) from error

    def limit_spec(self, writer: StateStoreWriter, limit: int) -> TaskSpec:
        """What the task of a limit gets that looks at no columns."""
        return self.task_spec(writer, LimitKernel(pa.schema([]), limit), single=True)

    def task_spec(
        self, writer: StateStoreWriter | None, kernel: Kernel, *, single: bool
    ) -> TaskSpec:
        """What the tasks of an operator get.

        Args:
            writer: the operator; None: the kernel has no state.
            kernel: what they run.
            single: whether there is one task, and one store.

        Raises:
            RuntimeFailure: the operator's state cannot be read.
        """
        tasks, attempt = 1 if single else self._context.tasks, self._context.attempt
        if writer is None:
            # Version 0 has no files to read, and nothing is committed.
            none = StateVersion(0, tasks)
            return TaskSpec("an aggregation", kernel, self._root, none, tasks, attempt)
        version = self._version(writer)
        if single:
            version = replace(version, stores=1)
        location = self._location(writer)
        return TaskSpec(writer.node_name, kernel, location, version, tasks, attempt)

    def delete_attempt(self) -> None:
        """Delete what the attempt's tasks have written."""
        for writer in self._writers.values():
            delete_attempt(self._location(writer), self._context.attempt)

    def _location(self, writer: StateStoreWriter) -> Location:
        return self._root / str(operator_id(writer)) / "runs"

    def _version(self, writer: StateStoreWriter) -> StateVersion:
        """The version that the batch starts from, under the query's number of stores.

        The checkpoint may have been rescaled since: rows keep their hash, no file changes.
        """
        info, context = writer.state_info, self._context
        assert info is not None
        known = self._versions.get(info.operator_id)
        if known is None:
            try:
                known = load_version(
                    self._location(writer),
                    context.batch_id,
                    info.num_partitions,
                    context.state_attempt,
                )
            except StateError as error:
                raise state_failure(error) from error
            known = replace(known, stores=info.num_partitions)
            self._versions[info.operator_id] = known
        return known


def operator_id(writer: StateStoreWriter) -> int:
    """The id that the state rule gave an operator."""
    info = writer.state_info
    if info is None:
        raise InternalError(f"{writer.node_name} has no state info")
    return info.operator_id
