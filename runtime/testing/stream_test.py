"""A streaming query under test: driven step by step, its rows and its state checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from ...planner.model.schemas.types import StructField
from ..comparison import as_text, plain, unmatched
from ..rows import read_rows
from .report import side_by_side, state_rows
from .stepped_query import SteppedQuery


class StreamTest(SteppedQuery):
    """A query that is driven by hand, with checks of what it emits and keeps.

    Rows that are expected may be written as those that come out, or with Python's values; in any
    order, unless the query sorts (`ordered`).
    """

    def expect(self, rows: Any, *, ordered: bool | None = None) -> Self:
        """Check the rows emitted since the last `expect`; in complete mode the result as it stands.

        Args:
            rows: exactly these; see `read_rows`.
            ordered: in this order; by default as the test was made.

        Raises:
            AssertionError: others were emitted; it shows the steps, both sides, state and plan.
        """
        __tracebackhide__ = True
        fields = self._output
        wanted = self._plain(rows, fields, "the expected output")
        first = self._checked
        if self._query.output_mode == "complete":
            first = max(self._caught.rows, default=0)
        emitted = self._emitted(first)
        self._checked = self._handle.next_batch
        self._steps.append(f"expect {len(wanted)} rows")
        in_order = self._ordered if ordered is None else ordered
        self._compare(wanted, emitted, [field.name for field in fields], in_order)
        return self

    def expect_state(self, rows: Any, operator: int = 0) -> Self:
        """Check the rows that a stateful operator keeps.

        Args:
            rows: exactly these, in any order: mappings with some of the columns of the state's key
                and value (`stateplan state show` names them), or sequences of all.
            operator: the operator's id; 0 is the one nearest the sink.

        Raises:
            AssertionError: it keeps others.
            StateplanError: there is no such operator, or no batch has run.
        """
        __tracebackhide__ = True
        names, found = state_rows(self._states, operator)
        state = self._states.state(operator)
        fields = [StructField(column.name, column.data_type) for column in state.flat_columns]
        given = list(rows)
        if given and all(isinstance(row, Mapping) for row in given):
            named = [i for i, name in enumerate(names) if any(name in row for row in given)]
            unknown = {name for row in given for name in row} - set(names)
            if not unknown:
                names, fields = [names[i] for i in named], [fields[i] for i in named]
                found = [[row[i] for i in named] for row in found]
        self._steps.append(f"expect {len(given)} rows of state of operator {operator}")
        wanted = self._plain(given, fields, f"the state of operator {operator}")
        self._compare(wanted, found, names, ordered=False)
        return self

    def state(self, operator: int = 0) -> list[dict[str, Any]]:
        """The rows that a stateful operator keeps: by the names of key and value columns."""
        names, rows = state_rows(self._states, operator)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _plain(self, rows: Any, fields: Sequence[StructField], what: str) -> list[Any]:
        read = read_rows(rows, fields, self._zone, what)
        return [
            [plain(value, field.data_type) for value, field in zip(row, fields, strict=True)]
            for row in read
        ]

    def _compare(
        self, wanted: list[Any], found: list[Any], names: Sequence[str], ordered: bool
    ) -> None:
        __tracebackhide__ = True
        equal = (
            len(wanted) == len(found)
            and all(not any(unmatched([w], [f])) for w, f in zip(wanted, found, strict=True))
            if ordered
            else not any(unmatched(wanted, found))
        )
        if not equal:
            lines = side_by_side(wanted, found, ordered=ordered)
            raise self._failure([f"columns: {as_text(list(names))}", *lines])
