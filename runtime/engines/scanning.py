"""What tasks make of rows themselves, from what the runtime plan says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ...planner.model.expressions.core import Expression, without_alias
from ..arrow_types import arrow_type
from ..kernels.expressions.programs.compile import compile_program
from ..kernels.expressions.programs.given import Seen
from ..kernels.readers.own_reader import OwnReader
from ..kernels.scans.file_metadata import MetadataReader
from ..kernels.scans.parquet_files import ParquetReader
from ..kernels.scans.row_copies import Order, RowCopies
from ..kernels.scans.row_lists import RowLists
from ..kernels.scans.scan import RowReader, RowsOnTheWay, Scan, ScanStep
from ..kernels.scans.table_look_up import KeyedTable, TableLookUp
from ..plan.facts import Reader
from ..plan.nodes import Columns
from ..plan.reading_nodes import Copies, DealOut, Explode, ReadFiles, ReadStep, TaskRows
from ..sources.file_partitions import in_partitions
from .context import BatchContext
from .evaluating import evaluator, pushed_filters


def scan_of(files: ReadFiles, context: BatchContext) -> Scan:
    """The scan of a node."""
    found = context.files[files.name]
    paths = found.files
    if files.origins:
        reader = context.readers.get(files.name)
        format = "parquet" if reader is None else reader.format
        engine = context.engine
        paths = in_partitions(paths, found.sizes, format, engine.cores, engine.setting)
    observed = None if files.event_time is None else (files.event_time, files.before)
    made = _made(files, files.used, files.before, context, observed)
    return Scan(
        files=paths,
        reader=_reader(files, context),
        values=made.values,
        hashed=made.hashed,
        places=made.places,
        steps=made.steps,
        origins=files.origins,
        counted=files.counted,
    )


def on_the_way(rows: DealOut, context: BatchContext) -> RowsOnTheWay:
    """What becomes of the rows that a kernel deals out."""
    return _made(rows, rows.child.output, (), context)


def _made(
    rows: TaskRows,
    below: Columns,
    conditions: Sequence[Expression],
    context: BatchContext,
    observed: Seen | None = None,
) -> RowsOnTheWay:
    """What becomes of rows of some columns, of which those count that fulfil conditions."""
    steps = []
    for step in rows.steps:
        steps.append(_step(step, below, conditions, context, observed))
        below, conditions, observed = step.output, (), None
    hashed = [without_alias(e) for e in rows.hashed]
    others: list[Expression] = []
    places: list[int] = []
    for column in rows.columns:
        if without_alias(column) in hashed:
            places.append(hashed.index(without_alias(column)))
        else:
            places.append(len(hashed) + len(others))
            others.append(column)
    return RowsOnTheWay(
        values=evaluator((*rows.hashed, *others), below, (*conditions, *rows.conditions), observed),
        hashed=len(rows.hashed),
        places=tuple(places),
        steps=tuple(steps),
    )


def _reader(files: ReadFiles, context: BatchContext) -> RowReader:
    reader = context.readers.get(files.name)
    if reader is None:
        return ParquetReader(_schema(files.used))
    behind = files.attributes[len(reader.schema.fields) :]
    metadata = {a.expr_id: f.name for a, f in zip(behind, reader.metadata, strict=False)}
    own = tuple(a for a in files.used if a.expr_id not in metadata)
    rows = _own_reader(files, own, reader, context)
    asked = tuple(metadata[a.expr_id] for a in files.used if a.expr_id in metadata)
    return MetadataReader(rows, asked) if asked else rows


def _own_reader(
    files: ReadFiles, columns: Columns, reader: Reader, context: BatchContext
) -> RowReader:
    """Reads columns that are in the files themselves."""
    if files.read is None:
        return ParquetReader(_schema(columns))
    ids = [a.expr_id for a in files.attributes]
    given = None
    if files.given and compile_program((), columns, files.given) is not None:
        given = evaluator((), columns, files.given)
    return OwnReader(
        format=reader.format,
        schema=pa.schema([(f.name, arrow_type(f.data_type)) for f in reader.schema.fields]),
        columns=tuple(ids.index(a.expr_id) for a in columns),
        options=tuple(reader.options.items()),
        time_zone=context.conf.time_zone,
        filters=pushed_filters(files.given, columns),
        given=given,
    )


def _step(
    step: ReadStep,
    below: Columns,
    conditions: Sequence[Expression],
    context: BatchContext,
    observed: Seen | None,
) -> ScanStep:
    conditions = (*conditions, *step.conditions)
    if isinstance(step, Explode):
        rows = evaluator(step.computed, below, conditions, observed)
        return RowLists(rows, numbered=step.numbered, outer=step.outer)
    if isinstance(step, Copies):
        order: Order = "rows" if step.in_order else "apart" if step.differ else "copies"
        values = evaluator(step.values, below, conditions, observed)
        return RowCopies(values, step.places, order)
    table = KeyedTable(
        files=context.files[step.name].files,
        schema=_schema(step.used),
        columns=evaluator((*step.found, *step.table_keys), step.used, step.given),
        width=len(step.found),
    )
    rows = evaluator(step.computed, below, conditions, observed)
    return TableLookUp(table, rows, len(step.columns), step.join_type)


def _schema(columns: Columns) -> Any:
    return pa.schema([pa.field(a.name, arrow_type(a.data_type)) for a in columns])
