"""What a failed test shows: its steps, rows side by side, the state, the plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from ...planner.model.errors import StateplanError
from ..comparison import as_text, plain, same, unmatched
from ..inspection.stored import StoredStates

MOST_STATE_ROWS = 20


def arrowed(steps: Sequence[str], wrong: int | None) -> list[str]:
    """The steps, an arrow at the one that went wrong."""
    return [f"{'-->' if n == wrong else '   '} step {n}: {text}" for n, text in enumerate(steps)]


def side_by_side(
    expected: Sequence[Any], emitted: Sequence[Any], *, ordered: bool = False
) -> list[str]:
    """Rows in two columns: `!` between those that differ, or that have no partner."""
    if ordered:
        pairs = list(zip_longest(expected, emitted, fillvalue=_NONE))
    else:
        missing, unexpected = unmatched(expected, emitted)
        equal = [row for row in expected if not any(row is other for other in missing)]
        differing = zip_longest(missing, unexpected, fillvalue=_NONE)
        pairs = [*((row, row) for row in equal), *differing]
    cells = [(_text(want), _text(got), _equal(want, got)) for want, got in pairs]
    width = max([len("expected"), *(len(want) for want, _, _ in cells)])
    lines = [f"{want:<{width}} {' ' if right else '!'} {got}" for want, got, right in cells]
    return [f"{'expected':<{width}}   emitted", *(line.rstrip() for line in lines)]


_NONE: Any = object()


def _equal(want: Any, got: Any) -> bool:
    return want is not _NONE and got is not _NONE and same(want, got)


def _text(row: Any) -> str:
    return "" if row is _NONE else json.dumps(row, ensure_ascii=False)


def state_rows(
    stored: StoredStates, operator: int, version: int | None = None
) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns of a state's key and value, and its rows as plain values, sorted."""
    state = stored.state(operator, version)
    columns = state.flat_columns
    rows: list[list[Any]] = []
    for batch in state.batches():
        values = [
            [plain(value, column.data_type) for value in batch.column(column.name).to_pylist()]
            for column in columns
        ]
        rows += map(list, zip(*values, strict=True))
    return [column.name for column in columns], sorted(rows, key=as_text)


def state_text(checkpoint: str, version: int | None = None) -> Iterator[str]:
    """The state of every operator of a checkpoint, if it has one."""
    try:
        stored = StoredStates.open(checkpoint)
        for operator, metadata in stored.operators.items():
            name = metadata.operatorInfo.operatorName
            columns, rows = state_rows(stored, operator, version)
            yield f"state of operator {operator} ({name}), {len(rows)} rows: {', '.join(columns)}"
            yield from (f"  {_text(row)}" for row in rows[:MOST_STATE_ROWS])
            if len(rows) > MOST_STATE_ROWS:
                yield f"  and {len(rows) - MOST_STATE_ROWS} more"
    except StateplanError as error:
        yield f"no state: {error.message}"
