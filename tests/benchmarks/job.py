"""What a process of the benchmark is asked to run, and what it answers: plain data, as JSON.

The parent chooses works, makes data and reports; a child runs one system, with the interpreter
that this system needs. So this module needs nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NATIVE, ROCKSDB, FLOOR, SPARK, EMBEDDED = "native", "native-rocksdb", "floor", "spark", "embedded"
OURS = (SPARK, EMBEDDED)
# Other systems by the module that runs them, for the works that they have.
OTHERS = {"duckdb": "duckdb_batches", "bytewax": "bytewax_flow", "pathway": "pathway_tables"}
OTHER_WORKS = ("session", "window", "dedup")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One SELECT of a query; later steps may read it by its name.

    Attributes:
        sql: Spark SQL in which `{orders}` stands for the input `orders`.
        distinct: columns of dropDuplicates on what the SQL gives, which Spark's SQL cannot say.
        within_watermark: whether it is dropDuplicatesWithinWatermark.
    """

    name: str = "result"
    sql: str
    distinct: tuple[str, ...] = ()
    within_watermark: bool = False


@dataclass(frozen=True, kw_only=True)
class Input:
    """A stream or a table of files.

    Attributes:
        files: files of a batch; None: a table.
        watermark: the event-time column and its delay in seconds.
        reader_options: the options of its reader, without the limit on files.
    """

    name: str
    schema: str
    format: str
    path: str
    files: int | None
    watermark: tuple[str, int] | None
    reader_options: Mapping[str, str]

    @property
    def stream_options(self) -> dict[str, str]:
        """The options of a stream's reader."""
        return {**self.reader_options, "maxFilesPerTrigger": str(self.files)}

    def relation(self, *, streaming: bool) -> str:
        """What FROM reads, as SQL; a batch query has neither STREAM nor WATERMARK."""
        if self.files is None or not streaming:
            return self.name
        if self.watermark is None:
            return f"STREAM {self.name}"
        column, seconds = self.watermark
        return f"STREAM {self.name} WATERMARK {column} DELAY OF INTERVAL {seconds} SECONDS"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run of one system.

    Attributes:
        work: its name.
        system: `native`, `native-rocksdb`, `floor`, `spark`, `embedded`, or one of `OTHERS`.
        steps: the query's; the last one's rows go to the sink.
        stores: `spark.sql.shuffle.partitions`.
        batches: how many batches there are data for.
        counted: the first batch that counts, and the one behind the last.
        checkpoint: a directory that does not exist.
        watch_memory: whether to look at the memory of the Python workers all the time.
        keep_rows: whether to answer with the rows of each batch; else they go to a noop sink.
    """

    work: str
    system: str
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    function: str
    mode: str
    stores: int
    batches: int
    counted: tuple[int, int]
    checkpoint: str
    driver_memory: str
    watch_memory: bool = False
    keep_rows: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Job:
        """The job of its JSON."""
        inputs = tuple(Input(**one) for one in data["inputs"])
        steps = tuple(Step(**one) for one in data["steps"])
        return cls(**{**data, "inputs": inputs, "steps": steps})

    def sql(self, step: Step, *, streaming: bool = True) -> str:
        """The text of a step for Spark."""
        return step.sql.format(**{i.name: i.relation(streaming=streaming) for i in self.inputs})

    @property
    def text(self) -> str:
        """The whole query for stateplan, which has dropDuplicates in SQL."""
        texts = []
        for step in self.steps:
            text = self.sql(step)
            if step.distinct:
                within = "WITHIN WATERMARK " if step.within_watermark else ""
                head = f"SELECT DISTINCT ON ({', '.join(step.distinct)}) {within}"
                text = text.replace("SELECT ", head, 1)
            texts.append(text)
        named = [f"{s.name} AS ({t})" for s, t in zip(self.steps[:-1], texts, strict=False)]
        return f"WITH {', '.join(named)} {texts[-1]}" if named else texts[-1]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run showed.

    Attributes:
        system: which it was.
        seconds: of each batch that counts.
        rows: input rows of each batch that counts.
        progress: the progress of each batch that counts.
        watermarks: the watermark of every batch, by batch id, those without data included.
        kept: the rows of each batch that has any, by batch id; only if they were to be kept.
        state_rows: rows in the state at the end, over all operators.
        state_bytes: the size of the checkpoint's state directory at the end.
        operators: how many stateful operators there are.
        emitted: the rows that came out in all, of other systems.
        cpu_seconds: the processor time of a batch, the mean over those that count.
        python_bytes: peak private memory of all Python workers together, or, embedded, of the
            process; None: not looked at.
    """

    system: str
    seconds: Sequence[float]
    rows: Sequence[int]
    progress: Sequence[Mapping[str, Any]] = ()
    watermarks: Mapping[str, str] | None = None
    kept: Mapping[str, Sequence[str]] | None = None
    state_rows: int = 0
    state_bytes: int = 0
    operators: int = 0
    emitted: int = 0
    cpu_seconds: float = 0.0
    python_bytes: int | None = None
