"""Column names: which column of an operator's input a name means."""

from __future__ import annotations

from collections.abc import Iterable

from ...planner.model.expressions.core import AttributeReference
from ...planner.model.text.quoting import to_sql_id
from ...planner.model.tree import replace
from .failures import ambiguous

Match = tuple[AttributeReference, tuple[str, ...]]


UNNAMED = "__auto_generated_subquery_name"


def full_name(column: AttributeReference) -> tuple[str, ...]:
    """The column's name with its table's, unless that is a subquery without a name."""
    return (*(part for part in column.qualifier if part != UNNAMED), column.name)


class Scope:
    """The columns that names can mean at one operator.

    A name's first parts may be the column's table, the rest after the column fields inside it. A
    reading with a table is preferred to one without, as in Spark.
    """

    def __init__(self, columns: Iterable[AttributeReference], *, case_sensitive: bool) -> None:
        self.columns = tuple(columns)
        self.case_sensitive = case_sensitive
        self._by_name: dict[str, list[AttributeReference]] | None = None

    def fold(self, name: str) -> str:
        """The name as it is compared."""
        return name if self.case_sensitive else name.lower()

    def same(self, one: str, other: str) -> bool:
        """Whether two names are the same here."""
        return one == other or self.fold(one) == self.fold(other)

    def named(self, name: str) -> list[AttributeReference]:
        """All columns of that name."""
        if self._by_name is None:
            self._by_name = {}
            for column in self.columns:
                self._by_name.setdefault(self.fold(column.name), []).append(column)
        return self._by_name.get(self.fold(name), [])

    def find(self, parts: tuple[str, ...]) -> Match | None:
        """The column that the name means, spelled as the query spells it, and the fields after it.

        Raises:
            AnalysisError: several columns have the name (AMBIGUOUS_REFERENCE).
        """
        found, rest = self._candidates(parts)
        return (self._only(found, parts), rest) if found else None

    def find_one(self, parts: tuple[str, ...]) -> Match | None:
        """The same, but a name that several columns have means none of them."""
        found, rest = self._candidates(parts)
        return (found[0], rest) if len(found) == 1 else None

    def _candidates(
        self, parts: tuple[str, ...]
    ) -> tuple[list[AttributeReference], tuple[str, ...]]:
        for depth in range(min(len(parts) - 1, 3), -1, -1):
            found = self._qualified(parts[:depth], parts[depth])
            if found:
                return found, parts[depth + 1 :]
        return [], ()

    def _qualified(self, table: tuple[str, ...], name: str) -> list[AttributeReference]:
        found: dict[int, AttributeReference] = {}
        for column in self.named(name):
            if not table or self.qualifies(column, table):
                found.setdefault(column.expr_id, column)
        return [c if c.name == name else replace(c, name=name) for c in found.values()]

    def qualifies(self, column: AttributeReference, table: tuple[str, ...]) -> bool:
        """Whether the column belongs to the table of that name."""
        own = column.qualifier[-len(table) :]
        return len(own) == len(table) and all(map(self.same, own, table))

    def _only(self, found: list[AttributeReference], parts: tuple[str, ...]) -> AttributeReference:
        if len(found) == 1:
            return found[0]
        raise ambiguous(parts, (to_sql_id(full_name(c)) for c in found), None)
