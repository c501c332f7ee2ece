"""Data of a seed: files of a format, one batch after the other in the order of their times."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from .columns import KINDS, Shape

_FIRST_FILE_TIME = 1_700_000_000
_SEED = 20_260_101


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The files of a stream or a table.

    Attributes:
        kind: what the rows look like, of `columns.KINDS`.
        rows: rows of a batch.
        keys: how many keys there are; `repeats` needs none.
        preload: for `changes`, rows of the batches that make the state.
        parts: files of a batch, so that both cores read.
        options: options of the reader that the format needs.
        declared: columns as DDL that a reader is given instead of those that were written.
    """

    kind: str
    rows: int
    keys: int
    preload: int = 0
    parts: int = 2
    format: Literal["parquet", "json", "csv"] = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    declared: str | None = None

    @property
    def preload_batches(self) -> int:
        """The batches that come before those of `rows` rows."""
        return -(-self.keys // self.preload) if self.preload else 0

    @property
    def schema(self) -> str:
        """The columns as DDL."""
        return self.declared or KINDS[self.kind].schema

    def path(self, root: Path, batches: int) -> Path:
        """The directory of so many batches; made if it is not there."""
        figures = (self.rows, self.keys, self.preload, self.parts, batches)
        name = "-".join([self.kind, *map(str, figures), self.format])
        directory = root / name
        if not directory.exists():
            hidden = root / f".{name}-{os.getpid()}"
            shutil.rmtree(hidden, ignore_errors=True)
            hidden.mkdir(parents=True)
            for number in range(batches):
                self._write(hidden, number)
            hidden.rename(directory)
        return directory

    def table(self, number: int) -> pa.Table:
        """The rows of a batch, the same each time."""
        random = np.random.default_rng([_SEED, number])
        shape = Shape(rows=self.rows, keys=self.keys, preload=self.preload)
        return KINDS[self.kind].make(shape, random, number)

    def _write(self, directory: Path, number: int) -> None:
        table = self.table(number)
        size = -(-table.num_rows // self.parts)
        for part in range(self.parts):
            path = directory / f"batch-{number:05d}-{part}.{self.format}"
            _write_file(table.slice(part * size, size), path, self.format)
            seconds = _FIRST_FILE_TIME + number * self.parts + part
            os.utime(path, (seconds, seconds))


def _write_file(table: pa.Table, path: Path, format: str) -> None:
    if format == "parquet":
        pq.write_table(table, path)
    elif format == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        path.write_text("\n".join(_json_lines(table)) + "\n", encoding="utf-8")


def _json_lines(table: pa.Table) -> list[str]:
    """A JSON object a row; texts hold nothing that JSON would escape."""
    fields = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        text = column.cast(pa.string())
        if pa.types.is_timestamp(column.type):
            text = pc.replace_substring(text, " ", "T")
        if pa.types.is_timestamp(column.type) or pa.types.is_string(column.type):
            text = pc.binary_join_element_wise('"', text, '"', "")
        fields.append(pc.binary_join_element_wise(f'"{name}":', pc.fill_null(text, "null"), ""))
    joined = pc.binary_join_element_wise(*fields, ",")
    return [f"{{{line}}}" for line in joined.to_pylist()]
