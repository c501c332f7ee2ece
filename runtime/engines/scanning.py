"""What tasks read from files themselves, from what the runtime plan says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ...planner.model.expressions.core import Expression, without_alias
from ..arrow_types import arrow_type
from ..kernels.scan import Scan
from ..kernels.table_look_up import KeyedTable, TableLookUp
from ..plan.nodes import Columns, LookUp, ReadFiles
from ..sources.parquet import with_origins
from .context import BatchContext
from .evaluating import evaluator


def scan_of(files: ReadFiles, context: BatchContext) -> Scan:
    """The scan of a node."""
    found = context.files[files.name]
    time = None
    if files.event_time is not None:
        time = evaluator((files.event_time,), files.used, files.before)
    paths = found.files
    if files.origins:
        paths = with_origins(paths, found.sizes, context.cores)
    below, conditions = files.used, files.before
    lookups = []
    for one in files.lookups:
        lookups.append(_look_up(one, below, conditions, context))
        below, conditions = one.output, ()
    hashed = [without_alias(e) for e in files.hashed]
    others: list[Expression] = []
    places: list[int] = []
    for column in files.columns:
        if without_alias(column) in hashed:
            places.append(hashed.index(without_alias(column)))
        else:
            places.append(len(hashed) + len(others))
            others.append(column)
    return Scan(
        files=paths,
        schema=_schema(files.used),
        keys=evaluator(files.hashed, below, (*conditions, *files.conditions)),
        columns=evaluator(others, below, ()),
        places=tuple(places),
        time=time,
        origins=files.origins,
        lookups=tuple(lookups),
    )


def _look_up(
    one: LookUp, below: Columns, conditions: Sequence[Expression], context: BatchContext
) -> TableLookUp:
    table = KeyedTable(
        files=context.files[one.name].files,
        schema=_schema(one.used),
        columns=evaluator((*one.found, *one.table_keys), one.used, one.given),
        width=len(one.found),
    )
    rows = evaluator((*one.columns, *one.keys), below, (*conditions, *one.conditions))
    return TableLookUp(table=table, rows=rows, width=len(one.columns), join_type=one.join_type)


def _schema(columns: Columns) -> Any:
    return pa.schema([pa.field(a.name, arrow_type(a.data_type)) for a in columns])
