"""What the micro-batch loop asks of a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...planner.model.errors import DescriptionError, RuntimeFailure
from ...planner.model.formats import fixed_schema, metadata_columns
from ...planner.model.schemas.types import StructField, StructType, as_nullable
from ..checkpoint import Offset, compact_json, other_query
from ..options import Options
from ..plan.facts import Reader
from ..state import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .parquet import FileBatch


@dataclass(frozen=True, kw_only=True)
class SourceRequest:
    """What a description or program asks of a source.

    Attributes:
        format: the source's name.
        path: where its data is, if it says so.
        schema: the columns, if it says so.
        options: the options.
    """

    format: str
    path: str | None
    schema: StructType | None
    options: Options

    @property
    def needed_schema(self) -> StructType:
        """The columns; raises DescriptionError where they are missing."""
        if self.schema is None:
            raise DescriptionError(
                "STATEPLAN_SOURCE_SCHEMA_MISSING",
                f"A source of format '{self.format}' needs a schema.",
                hint="Add 'schema:' with the columns, such as 'user STRING, ts TIMESTAMP'.",
            )
        return self.schema

    @property
    def needed_path(self) -> str:
        """The path; raises DescriptionError where it is missing."""
        path = self.path or self.options.get("path")
        if path is None:
            hint = f"Give the source of format '{self.format}' the path of a directory."
            raise DescriptionError.of("_LEGACY_ERROR_TEMP_2047", hint=hint)
        return path

    @property
    def fixed_schema(self) -> StructType:
        """The columns that the format always has.

        Raises:
            DescriptionError: other columns are asked for.
        """
        columns = fixed_schema(self.format, self.options)
        assert columns is not None
        if self.schema is not None and as_nullable(self.schema) != as_nullable(columns):
            raise DescriptionError(
                "STATEPLAN_SOURCE_SCHEMA_FIXED",
                f"A source of format '{self.format}' always has the columns {columns.sql}, not "
                f"{self.schema.sql}.",
                hint="Leave 'schema' out.",
            )
        return columns


def not_its_offset(offset: Offset, format: str) -> RuntimeFailure:
    """The error for an offset that a source of this format did not write."""
    return other_query(
        f"The checkpoint's offset {compact_json(offset):.200} is not one of a source of format "
        f"'{format}'."
    )


class Source(ABC):
    """A stream that can be read again between two offsets.

    Offsets are JSON values, compared by equality. `attach` is called once, before anything else.

    Attributes:
        schema: the columns.
        metadata: the fields of the hidden column `_metadata`, if the query names it.
    """

    schema: StructType
    metadata: tuple[StructField, ...] = ()

    @classmethod
    def create(cls, request: SourceRequest) -> Source:
        """The source that a description asks for; one that only programs make has none.

        Raises:
            StateplanError: an option is unusable, something is missing.
        """
        raise DescriptionError(
            "STATEPLAN_BAD_SOURCE",
            f"The source '{request.format}' cannot be made from a description.",
            hint="Give query.run the source object.",
        )

    @classmethod
    def fixed_schema(cls, options: Mapping[str, str]) -> StructType | None:
        """The columns, where they are always the same: explain needs no others then."""
        return None

    @property
    @abstractmethod
    def description(self) -> str:
        """How progress names the source, as Spark does."""

    def attach(self, log_directory: Location) -> None:  # noqa: B027  most sources keep no log
        """Take up the source's own log in the checkpoint, if it keeps one.

        Raises:
            RuntimeFailure: the log is unusable, or what it names is gone.
        """

    @property
    def batch_schema(self) -> StructType:
        """The columns that `batch` gives: behind those of the schema the fields of `_metadata`."""
        return StructType((*self.schema.fields, *metadata_columns(self.metadata)))

    def show_metadata(self, name: str) -> None:
        """Give the fields of `_metadata`, too.

        Args:
            name: what the query calls the source.

        Raises:
            RuntimeFailure: the source cannot.
        """
        raise RuntimeFailure(
            "STATEPLAN_UNSUPPORTED_COLUMN",
            f"The column _metadata of '{name}' is planned, but stateplan does not run it: a source "
            "of this format does not say which file a row is of.",
            hint="Leave it out, or run the query by Structured Streaming itself.",
        )

    def prepare_for_available_now(self) -> None:  # noqa: B027  most sources have nothing to do
        """Fix what `available_now` will read: what is there at this moment."""

    @abstractmethod
    def latest_offset(self, start: Offset | None, *, unlimited: bool = False) -> Offset | None:
        """Where the next batch may end; `start` (or None) if there is nothing new.

        Args:
            start: where the last batch ended; None before the first.
            unlimited: without the source's own limits (trigger `once`).
        """

    def newest_offset(self) -> Offset | None:
        """The end of all data now, where a source can tell; for progress."""
        return None

    def metrics(self, end: Offset | None) -> Mapping[str, str]:
        """Figures of its own for progress, once a batch has ended there."""
        return {}

    @abstractmethod
    def batch(self, spark: SparkSession, start: Offset | None, end: Offset) -> DataFrame:
        """The rows behind `start` up to `end`, in the columns of `batch_schema`.

        Raises:
            RuntimeFailure: rows of the range are not there any more.
        """

    def batch_table(self, start: Offset | None, end: Offset) -> Any:
        """What `batch` gives as an Arrow table, where the rows are in this process; None: not."""
        return None

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        """About how many bytes the rows are that `batch` has just given; None: it cannot tell."""
        return None

    def batch_rows(self, start: Offset | None, end: Offset) -> int | None:
        """How many rows `batch` gives, exactly; None: that takes reading them."""
        return None

    @property
    def reader(self) -> Reader | None:
        """How an engine reads the source's files; None: it does not."""
        return None

    def batch_paths(self, start: Offset | None, end: Offset) -> Sequence[str]:
        """The files of the rows that `batch` gives, where there are files.

        Raises:
            RuntimeFailure: one is gone.
        """
        return ()

    def batch_files(self, start: Offset | None, end: Offset) -> FileBatch | None:
        """The files that `batch` reads, where tasks can do so without Spark; None: they cannot."""
        return None

    def commit(self, end: Offset) -> None:  # noqa: B027
        """The rows up to here will not be asked for again."""

    def stop(self) -> None:  # noqa: B027
        """Let go of what the source holds."""
