"""What analysis of one query knows besides the plan, and which column a name means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property

from ...planner.model import registry
from ...planner.model.catalog import Catalog, Source, TempView
from ...planner.model.errors import AnalysisError
from ...planner.model.expressions.core import (
    AttributeReference,
    Call,
    Cast,
    EvalMode,
    Expression,
    Origin,
)
from ...planner.model.expressions.subqueries import SubqueryExpression
from ...planner.model.frozen import dataclass
from ...planner.model.functions.coercion import implicit
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.relations import UNNAMED
from ...planner.model.schemas.types import DataType
from ...planner.model.settings.conf import Conf
from ...planner.model.text.quoting import to_sql_id
from ...planner.model.tree import replace
from .failures import ambiguous, invalid, located, unresolved_routine

Match = tuple[AttributeReference, tuple[str, ...]]


def full_name(column: AttributeReference) -> tuple[str, ...]:
    """The column's name with its table's, unless that is a subquery without a name."""
    return (*(part for part in column.qualifier if part != UNNAMED), column.name)


class Scope:
    """The columns that names can mean at one operator.

    A name's first parts may be the column's table, the rest after the column fields inside it. A
    reading with a table is preferred to one without, as in Spark. `fold` gives a name as it is
    compared; `hidden` are the ids of columns that no name without a table means.
    """

    def __init__(
        self,
        columns: Iterable[AttributeReference],
        fold: Callable[[str], str],
        hidden: frozenset[int] = frozenset(),
    ) -> None:
        self.columns = tuple(columns)
        self.fold = fold
        self.hidden = hidden
        self._by_name: dict[str, list[AttributeReference]] | None = None

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

    def knows(self, parts: tuple[str, ...]) -> bool:
        """Whether the name means a column here, or several."""
        return bool(self._candidates(parts)[0])

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
            meant = self.qualifies(column, table) if table else column.expr_id not in self.hidden
            if meant:
                found.setdefault(column.expr_id, column)
        return [c if c.name == name else replace(c, name=name) for c in found.values()]

    def of_table(self, table: tuple[str, ...]) -> list[AttributeReference]:
        """The columns of a table, those first that only its name reaches."""
        found = [column for column in self.columns if self.qualifies(column, table)]
        return sorted(found, key=lambda column: column.expr_id not in self.hidden)

    def qualifies(self, column: AttributeReference, table: tuple[str, ...]) -> bool:
        """Whether the column belongs to the table of that name."""
        own = column.qualifier[-len(table) :]
        return len(own) == len(table) and all(map(self.same, own, table))

    def _only(self, found: list[AttributeReference], parts: tuple[str, ...]) -> AttributeReference:
        if len(found) == 1:
            return found[0]
        raise ambiguous(parts, (to_sql_id(full_name(c)) for c in found), None)


@dataclass(frozen=True, kw_only=True)
class Context:
    """The catalog and the settings, with what is asked of them often.

    `streams` holds the sources read so far: however often a query names a stream, its columns have
    the same ids, until a join needs different ones. `outer` is the scope of the query around a
    subquery; `analyze_subquery` analyzes a subquery whose outer scope is given. `at_once` is set
    where a stream's whole query is analyzed together: Spark then leaves tables below it that are
    read twice as they are. A DataFrame is analyzed step by step, a subquery for itself. `whole` is
    where the whole query or subquery stands. `hidden` are the columns that JOIN ... USING hides.
    """

    catalog: Catalog
    conf: Conf
    streams: dict[str, LogicalPlan] = field(default_factory=dict)
    outer: Scope | None = None
    at_once: bool = False
    whole: Origin | None = None
    hidden: frozenset[int] = frozenset()
    analyze_subquery: Callable[[SubqueryExpression, Scope], Expression] | None = None

    @cached_property
    def ansi(self) -> bool:
        return self.conf.ansi

    @cached_property
    def mode(self) -> EvalMode:
        return "ANSI" if self.ansi else "LEGACY"

    @cached_property
    def time_zone(self) -> str:
        return self.conf.time_zone

    @cached_property
    def fold(self) -> Callable[[str], str]:
        """Gives a name as it is compared."""
        return self.conf.fold

    @cached_property
    def sources(self) -> dict[str, Source | TempView]:
        """The sources by name as it is compared."""
        return {self.fold(name): source for name, source in self.catalog.items()}

    def scope(self, columns: tuple[AttributeReference, ...]) -> Scope:
        """The names of these columns."""
        return Scope(columns, self.fold, self.hidden)

    def hiding(self, columns: Iterable[AttributeReference]) -> Context:
        """The same where names without a table do not mean these columns."""
        return replace(self, hidden=self.hidden.union(c.expr_id for c in columns))

    def cast(self, expression: Expression, data_type: DataType) -> Cast:
        """An implicit cast."""
        return implicit(expression, data_type, self.conf)

    def call(
        self,
        name: str,
        *arguments: Expression,
        origin: Origin | None = None,
        options: tuple[object, ...] = (),
    ) -> Expression:
        """A call over resolved arguments, with the casts that its function puts in.

        What the function refuses for types or values becomes an `Invalid` call.

        Raises:
            AnalysisError: there is no such function, or the number of arguments is wrong.
        """
        spec = registry.find(name.lower())
        if spec is None:
            raise unresolved_routine(name, origin)
        call = Call(
            name=spec.name,
            arguments=arguments,
            ansi=self.ansi,
            time_zone=self.time_zone,
            options=options,
            origin=origin,
        )
        if spec.check is None:
            return call
        try:
            return spec.check(call, self.conf)
        except AnalysisError as error:
            if error.condition is None or not error.condition.startswith("DATATYPE_MISMATCH"):
                raise located(error, origin) from None
            shown = getattr(error, "call", None) or call
            call = replace(call, arguments=shown.arguments, options=())
            return invalid(call, located(error, origin))
