"""A Delta table as a sink: each batch is one version, once, through delta-rs, without a JVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...planner.model.errors import RuntimeFailure
from ...planner.model.output_modes import OutputMode
from ..checkpoint import concurrent_update
from ..delta import client, table_uri
from ..frames import for_arrow
from .base import Sink, SinkRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OPTIONS = ("path", "mergeSchema", "overwriteSchema", "userMetadata", "txnAppId")


class DeltaSink(Sink):
    """Adds each batch to a table, or in complete mode replaces all rows by it, exactly once.

    A version that holds a batch names it in the table's log: the action `txn` with the query's id
    as application and the batch's id as version, as Delta's own sink writes it. A batch that comes
    again is passed over; of two drivers one alone commits it. The rows of a batch go through the
    driver.

    Args:
        request: its path and partition columns, and options: `mergeSchema`, `overwriteSchema`
            (complete mode), `userMetadata`, `txnAppId` in the place of the query's id.

    Raises:
        DescriptionError: the path is missing, an option is unusable.
        RuntimeFailure: `deltalake` is not installed.
    """

    one_action = True
    in_arrow = True

    def __init__(self, request: SinkRequest) -> None:
        options = request.options
        options.refuse_unknown(_OPTIONS)
        client()
        self._uri = table_uri(request.needed_path)
        self._partition_by: Sequence[str] = tuple(request.partition_by)
        self._merge = options.flag("mergeSchema")
        self._overwrite_schema = options.flag("overwriteSchema")
        self._metadata = options.get("userMetadata")
        self._app_id = options.get("txnAppId")
        self._mode: OutputMode = "append"
        self._staged: tuple[int, Any, Any] | None = None

    @classmethod
    def create(cls, request: SinkRequest) -> DeltaSink:
        return cls(request)

    @property
    def description(self) -> str:
        where = self._uri if "://" in self._uri else f"file:{self._uri}"
        return f"DeltaSink[{where}]"

    def attach(self, query_id: str, next_batch: int, output_mode: OutputMode) -> None:
        if output_mode == "update":
            raise RuntimeFailure(
                "STATEPLAN_SINK_OUTPUT_MODE",
                "Data source delta does not support Update output mode.",
                hint="Use append or complete, or foreachBatch with a merge.",
            )
        self._app_id = self._app_id or query_id
        self._mode = output_mode

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        """Compute a batch; the table has it once it is published."""
        self._staged = None
        table = self._table()
        done = None if table is None else table.transaction_version(self._app_id)
        if done is not None and done >= batch_id:
            return None
        rows = for_arrow(frame).toArrow()
        self._staged = batch_id, table, rows
        return int(rows.num_rows)

    def publish(self) -> None:
        """Commit the batch that was written last.

        Raises:
            RuntimeFailure: another driver has committed it, or the table refuses its rows.
        """
        if self._staged is None:
            return
        (batch_id, table, rows), self._staged = self._staged, None
        package = client()
        from deltalake.exceptions import DeltaError

        own = package.CommitProperties(
            custom_metadata=None if self._metadata is None else {"userMetadata": self._metadata},
            app_transactions=[package.Transaction(self._app_id, batch_id)],
        )
        schema_mode = "merge" if self._merge else None
        if self._mode == "complete" and self._overwrite_schema:
            schema_mode = "overwrite"
        try:
            package.write_deltalake(
                self._uri if table is None else table,
                rows,
                mode="overwrite" if self._mode == "complete" else "append",
                partition_by=list(self._partition_by) or None,
                schema_mode=schema_mode,
                commit_properties=own,
            )
        except DeltaError as problem:
            if "Concurrent transaction failed" in str(problem):
                raise concurrent_update(batch_id, self._uri) from None
            raise RuntimeFailure(
                "STATEPLAN_DELTA_NOT_WRITTEN",
                f"The Delta table '{self._uri}' does not take the batch: {problem}",
                hint="Correct the query or the table, then start the query again: it goes on from "
                "the last commit.",
            ) from problem

    def stop(self) -> None:
        self._staged = None

    def _table(self) -> Any:
        """The table as it is now: who commits after this is noticed; None: there is none yet."""
        package = client()
        from deltalake.exceptions import TableNotFoundError

        try:
            return package.DeltaTable(self._uri)
        except TableNotFoundError:
            return None
