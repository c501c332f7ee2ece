"""What tasks read from files themselves, from what the runtime plan says of it."""

from __future__ import annotations

import pyarrow as pa

from ...planner.model.expressions.core import Expression, without_alias
from ..arrow_types import arrow_type
from ..kernels.scan import Scan
from ..plan.nodes import ReadFiles
from ..sources.parquet import with_origins
from .context import BatchContext
from .evaluating import evaluator


def scan_of(files: ReadFiles, context: BatchContext) -> Scan:
    """The scan of a node."""
    found = context.files[files.name]
    used = {id_ for e in files.expressions for id_ in e.references}
    columns = [a for a in files.attributes if a.expr_id in used]
    conditions = (*files.before, *files.conditions)
    time = None
    if files.event_time is not None:
        time = evaluator((files.event_time,), columns, files.before)
    paths = found.files
    if files.origins:
        paths = with_origins(paths, found.sizes, context.cores)
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
        schema=pa.schema([pa.field(a.name, arrow_type(a.data_type)) for a in columns]),
        keys=evaluator(files.hashed, columns, conditions),
        columns=evaluator(others, columns, ()),
        places=tuple(places),
        time=time,
        origins=files.origins,
    )
