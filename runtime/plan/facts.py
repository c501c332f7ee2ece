"""What a runtime plan is made of besides the executed plan: the facts of one micro-batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Protocol

from ...planner.model.expressions.core import Expression
from ...planner.model.formats import metadata_columns
from ...planner.model.frozen import dataclass
from ...planner.model.schemas.types import DataType, StructField, StructType
from ...planner.model.settings.conf import Conf

RECEIVED, GROUPS, STATE_ROWS = "received", "groups", "total"
"""Figures of an operator's version: the rows that the last batch with rows had, the keys among
them, and the rows of its state."""
MANY = 50_000
"""Rows of a batch: where there are fewer, nothing is said of how few keys they have."""
TO_GROUP, TO_DEAL_OUT = 10, 30
"""How many rows each key must have for it to pay that an engine groups them first, and that tasks
group what they read and send it on."""
FEW = 1_000_000
"""Rows of state: so many are sorted by one task in the time that two exchanges take."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What the batches before say of an operator's next one: the same for most of them.

    Attributes:
        rows_a_key: the larger of `TO_GROUP` and `TO_DEAL_OUT` that the rows of each key reach on
            average; 0: neither.
        much_state: whether its state has more rows than `FEW`.
    """

    rows_a_key: int = 0
    much_state: bool = False

    @classmethod
    def of(cls, known: Mapping[str, int]) -> Figures:
        """What the figures of a version say."""
        rows = known.get(RECEIVED, 0)
        keys = known.get(GROUPS, rows)
        reached = (n for n in (TO_GROUP, TO_DEAL_OUT) if rows >= MANY and keys * n <= rows)
        return cls(rows_a_key=max(reached, default=0), much_state=known.get(STATE_ROWS, 0) > FEW)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How the files of a source are read.

    Attributes:
        format: its name in Spark.
        schema: the columns.
        options: Spark's.
        here: whether our own code reads them in this process, not the engine.
        metadata: the fields of the column `_metadata`, if the query names it.
        base: the directory below which folders' names have values of columns, if they may.
    """

    format: str
    schema: StructType
    options: Mapping[str, str] = field(default_factory=dict)
    here: bool = False
    metadata: tuple[StructField, ...] = ()
    base: Path | None = None

    @property
    def columns(self) -> tuple[StructField, ...]:
        """All columns that can be read: behind those of the schema those of the metadata."""
        return *self.schema.fields, *metadata_columns(self.metadata)


class Exactness(Protocol):
    """What an engine computes as Spark does, and what not."""

    def exact(self, expression: Expression, conf: Conf) -> Expression:
        """The expression, its parts in a form that the engine computes as Spark does the plain."""

    def disagreements(self, exact: Expression, conf: Conf) -> Sequence[tuple[Expression, str]]:
        """The parts that it computes otherwise than Spark, or may, with the reason."""

    def sort_key(self, key: Expression) -> Expression:
        """A key of an order in the form in which the engine orders as Spark does the plain."""

    def repeats(self, part: Expression) -> Sequence[int]:
        """Of an exact form how often it says each child of its one child; of others nothing."""

    def lazy(self, part: Expression) -> Sequence[Expression]:
        """The children that Spark computes for some rows only."""

    def can_fail(self, exact: Expression, conf: Conf) -> bool:
        """Whether it can stop a query."""

    def step_disagreements(self, step: str, types: Sequence[DataType], conf: Conf) -> Sequence[str]:
        """Why it does a relational step over keys of such types otherwise."""

    def reader_disagreements(self, reader: Reader, conf: Conf) -> Sequence[str]:
        """Why it reads files otherwise."""


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """What an engine can do.

    Attributes:
        name: `spark` or `embedded`.
        hashes: computes Spark's `hash` and `xxhash64` itself, with the other columns.
        groups_first: groups rows before it exchanges them, where that leaves few.
        repeats: may run what lies below an operator twice, if that operator samples its input.
        numbers_partitions: says which partition a row was read in.
        observes: aggregates the rows that pass, for `observe`.
        reads_together: has all tasks in one process, which read each file once for all.
        prunes: reads of a table's files what Spark would read, by itself.
        splits: reads a large file in several blocks, whose bounds `_metadata` shows.
        writes: writes files of all formats as Spark does.
        exactness: what it computes as Spark does; None: everything.
    """

    name: str
    hashes: bool = True
    groups_first: bool = True
    repeats: bool = True
    numbers_partitions: bool = True
    observes: bool = True
    reads_together: bool = False
    prunes: bool = True
    splits: bool = True
    writes: bool = True
    exactness: Exactness | None = field(default=None, compare=False, repr=False)


SPARK = EngineFacts(name="spark")


@dataclass(frozen=True, kw_only=True)
class BatchFacts:
    """The facts of one micro-batch; by default those of a query's first one.

    Attributes:
        conf: the query's settings.
        engine: what runs it.
        batch_id: its number.
        tasks: how many tasks run each stateful operator.
        figures: per operator id, what the batches before say of it.
        source_rows: how many rows a source gives, exactly, where that is known.
        passed: per operator id of a limit, how many rows it has let through since the query began.
        files: per source whose tasks may read its files themselves, the types of the columns that
            mean the same to Spark and to Arrow.
        deals_out: whether an operator's tasks may compute what another one takes.
        readers: per source or table of files, how they are read.
        adaptive: whether Spark puts small partitions of a shuffle together.
    """

    conf: Conf = field(default_factory=Conf)
    engine: EngineFacts = SPARK
    batch_id: int = 0
    tasks: int = 1
    figures: Mapping[int, Figures] = field(default_factory=dict)
    source_rows: Mapping[str, int] = field(default_factory=dict)
    passed: Mapping[int, int] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, DataType]] = field(default_factory=dict)
    deals_out: bool = True
    readers: Mapping[str, Reader] = field(default_factory=dict)
    adaptive: bool = False
