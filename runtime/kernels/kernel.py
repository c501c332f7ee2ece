"""What every stateful kernel shares: its input, what it decides, the columns of event time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..state import NEVER, Keys, Layout, StateRows, StateStore
from ..state.rows import Int32, Int64, Mask, concat, take

if TYPE_CHECKING:
    from .user_state.functions import UserFunction

__all__ = [
    "Changes",
    "Decision",
    "Figures",
    "Input",
    "Int32",
    "Int64",
    "Kernel",
    "Keys",
    "Layout",
    "Mask",
    "OneStoreKernel",
    "Outcome",
    "StateRows",
    "StateStore",
    "at_or_below",
    "concat",
    "event_times",
    "select",
    "take",
]


@dataclass(frozen=True)
class Input:
    """A task's rows of the batch, all of them, in the order they came.

    Attributes:
        hashes: Spark's `xxhash64` of the operator's key columns.
        places: Spark's `hash` of the columns that place a row.
        rows: the columns, a record batch.
        origins: per row the partition it came from, where the operator asks for it.
    """

    hashes: Int64
    places: Int32
    rows: Any
    origins: Int32 | None = None

    def keys(self, columns: tuple[int, ...], schema: Any) -> Keys:
        """The keys that some columns make."""
        return Keys(self.hashes, self.places, select(self.rows, columns, schema))

    def take(self, positions: Int64) -> Input:
        """The rows at some positions."""
        origins = None if self.origins is None else self.origins[positions]
        rows = take(self.rows, positions)
        return Input(self.hashes[positions], self.places[positions], rows, origins)


@dataclass(frozen=True)
class Figures:
    """How a task changed its state: rows put, removed, late; by how many rows it grew.

    Attributes:
        received, groups: how many rows an aggregation had, and how many keys among them.
        custom: more figures, under the names that progress has for them.
    """

    updated: int = 0
    removed: int = 0
    dropped: int = 0
    added: int = 0
    received: int = 0
    groups: int = 0
    custom: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Changes:
    """What a kernel changes in a part of its state.

    Attributes:
        rows: all rows of the keys that it changed, or those that it adds.
        touched: see `Outcome`.
    """

    rows: StateRows
    touched: Keys | None = None


@dataclass(frozen=True)
class Decision:
    """What a kernel decided.

    Attributes:
        output: the rows to emit: record batches.
        figures: what it did.
        changes: what it changed, by part of its state.
    """

    output: list[Any]
    figures: Figures
    changes: Mapping[str, Changes] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a kernel decided whose state has one part.

    Attributes:
        output: the rows to emit.
        changes: all rows of the keys that it changed.
        figures: what it did.
        touched: the keys, as they were looked up, whose rows in the state no longer count where
            these are more than those of `changes`: because all their rows have expired.
    """

    output: Any
    changes: StateRows
    figures: Figures
    touched: Keys | None = None


class Kernel(Protocol):
    """A stateful operator over one task's rows. Kernels pickle; they keep nothing between calls.

    Its state has one part, named "", or several, each with rows of its own kind.
    """

    @property
    def layouts(self) -> Mapping[str, Layout]:
        """What the rows of its state hold, by part."""

    @property
    def input(self) -> Any:
        """The Arrow schema of the rows it takes."""

    @property
    def output(self) -> Any:
        """The Arrow schema of the rows it emits."""

    @property
    def evictions(self) -> Mapping[str, int | None]:
        """Up to which event time in microseconds the batch evicts from each part; None: it does
        not."""

    @property
    def per_store(self) -> Mapping[str, int]:
        """Figures that progress has for each store of the operator."""
        return {}

    @property
    def users_function(self) -> UserFunction | None:
        """The function of the user's that it calls for its keys."""
        return None

    def decide(self, rows: Input, stores: Mapping[str, StateStore]) -> Decision:
        """Restore, merge, decide what to emit and to keep; `stores`: its state, by part."""


class OneStoreKernel(Kernel, Protocol):
    """A kernel whose state has one part."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """What the rows of its state hold."""

    @property
    @abstractmethod
    def evicts(self) -> int | None:
        """Up to which event time in microseconds the batch evicts; None if it does not."""

    @abstractmethod
    def run(self, rows: Input, store: StateStore) -> Outcome:
        """Restore, merge, decide what to emit and to keep."""

    @property
    def layouts(self) -> Mapping[str, Layout]:
        return {"": self.layout}

    @property
    def evictions(self) -> Mapping[str, int | None]:
        return {"": self.evicts}

    def decide(self, rows: Input, stores: Mapping[str, StateStore]) -> Decision:
        made = self.run(rows, stores[""])
        return Decision([made.output], made.figures, {"": Changes(made.changes, made.touched)})


def select(batch: Any, columns: tuple[int, ...], schema: Any) -> Any:
    """Some columns of a record batch, under a schema of the same types."""
    if not columns:
        return take(
            pa.RecordBatch.from_arrays([], schema=schema), np.zeros(batch.num_rows, np.int64)
        )
    return pa.RecordBatch.from_arrays([batch.column(i) for i in columns], schema=schema)


def event_times(column: Any) -> Int64:
    """Event times in microseconds: a timestamp, or the end of a window; `NEVER` for null."""
    if pa.types.is_struct(column.type):
        column = pc.struct_field(column, [1])
    if not pa.types.is_int64(column.type):
        column = column.cast(pa.int64())
    times: Int64 = pc.fill_null(column, NEVER).to_numpy(zero_copy_only=False)
    return times


def at_or_below(times: Int64, watermark: int | None) -> Mask:
    """Which event times a watermark has passed; none without a watermark."""
    if watermark is None:
        return np.zeros(len(times), dtype=np.bool_)
    passed: Mask = times <= watermark
    return passed
