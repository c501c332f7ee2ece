"""What the micro-batch loop asks of a sink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...planner.model.errors import DescriptionError, RuntimeFailure
from ...planner.model.output_modes import OutputMode
from ...planner.model.schemas.types import StructType
from ...planner.model.settings.conf import Conf
from ..options import Options
from ..plan.facts import EngineFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, kw_only=True)
class SinkRequest:
    """What a description or program asks of a sink.

    Attributes:
        format: the sink's name.
        path: where rows go, if it says so.
        options: the options.
        partition_by: columns that become directories.
        cluster_by: columns that a new table is clustered by.
        spark: the session that shows a memory sink's view.
        name: the memory sink's view.
    """

    format: str
    path: str | None
    options: Options
    partition_by: Sequence[str] = ()
    cluster_by: Sequence[str] = ()
    spark: SparkSession | None = None
    name: str | None = None

    @property
    def needed_path(self) -> str:
        """The path; raises DescriptionError where it is missing."""
        path = self.path or self.options.get("path")
        if path is None:
            hint = f"Give the sink '{self.format}' the path of its output directory."
            raise DescriptionError.of("_LEGACY_ERROR_TEMP_2047", hint=hint)
        return path


class Sink(ABC):
    """Takes each batch's rows.

    A batch comes again after a failure: with the same id and, for the same input, the same rows.

    Attributes:
        one_action: whether `write` runs no more than one action over the batch's DataFrame. What
            its tasks did then takes a shorter way back.
        in_arrow: whether `write` takes what stands for a DataFrame (`local_rows.py`) while its
            rows are in this process, so that no engine is asked for them.
        calls_function: whether `write` calls a function of the user's with the batch.
    """

    one_action = False
    in_arrow = False
    calls_function = False

    @classmethod
    def create(cls, request: SinkRequest) -> Sink:
        """The sink that a description asks for; one that only programs make has none.

        Raises:
            StateplanError: an option is unusable, something is missing.
        """
        raise DescriptionError(
            "STATEPLAN_BAD_SINK",
            f"The sink '{request.format}' cannot be made from a description.",
            hint="Give query.run the sink object.",
        )

    @property
    @abstractmethod
    def description(self) -> str:
        """How progress names the sink."""

    def attach(self, query_id: str, next_batch: int, output_mode: OutputMode) -> None:  # noqa: B027
        """Get ready for batches from `next_batch` on.

        Raises:
            RuntimeFailure: the sink cannot take this query's output.
        """

    def check(self, schema: StructType, engine: EngineFacts, conf: Conf) -> None:  # noqa: B027
        """See whether rows can be written; before the first batch of a run.

        Args:
            schema: the rows' columns.
            engine: what the engine can do that gives them.
            conf: the query's settings.

        Raises:
            StateplanError: they cannot.
        """

    @abstractmethod
    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        """Take a batch; returns the number of its rows where the sink knows it.

        The batch may turn out not to stand: then it comes again, without `publish` in between. A
        sink that has the batch already need not look at the frame: the loop sees to it that the
        query's state moves on.
        """

    def publish(self) -> None:  # noqa: B027
        """Make the batch that was written last part of the output, where `write` has not yet.

        The loop has looked at what its tasks reported: rows and state fit together. A sink that
        cannot take a batch back unless it was published keeps it hidden until then.
        """

    def stop(self) -> None:  # noqa: B027
        """Let go of what the sink holds."""


def refuse_output_mode(sink: str, mode: OutputMode) -> RuntimeFailure:
    """The error for a sink that cannot take an output mode."""
    return RuntimeFailure.of(
        "STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE",
        outputMode=mode,
        className=sink,
        hint="Use append, or a sink that can replace rows: memory or foreachBatch.",
    )
