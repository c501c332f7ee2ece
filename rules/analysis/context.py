"""What analysis of one query knows besides the plan."""

from __future__ import annotations

from collections.abc import Callable
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
from ...planner.model.schemas.types import DataType
from ...planner.model.settings.conf import Conf
from .columns import Scope
from .failures import InvalidCall, located, unresolved_routine


@dataclass(frozen=True, kw_only=True)
class Context:
    """The catalog and the settings, with what is asked of them often.

    `streams` holds the sources read so far: however often a query names a stream, its columns have
    the same ids, until a join has to tell them apart. `outer` is the scope of the query around a
    subquery; `analyze_subquery` analyzes a subquery whose outer scope is given. `at_once` is set
    where a stream's whole query is analyzed together: Spark then leaves tables below it that are
    read twice as they are. A DataFrame is analyzed step by step, a subquery for itself. `whole` is
    where the whole query or subquery stands.
    """

    catalog: Catalog
    conf: Conf
    streams: dict[str, LogicalPlan] = field(default_factory=dict)
    outer: Scope | None = None
    at_once: bool = False
    whole: Origin | None = None
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
    def case_sensitive(self) -> bool:
        return self.conf.case_sensitive

    @cached_property
    def sources(self) -> dict[str, Source | TempView]:
        """The sources by name as it is compared."""
        return {self.fold(name): source for name, source in self.catalog.items()}

    def fold(self, name: str) -> str:
        """A name as it is compared."""
        return name if self.case_sensitive else name.lower()

    def scope(self, columns: tuple[AttributeReference, ...]) -> Scope:
        """The names of these columns."""
        return Scope(columns, case_sensitive=self.case_sensitive)

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

        What the function refuses for types or values becomes an InvalidCall.

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
            return InvalidCall(
                name=spec.name,
                arguments=shown.arguments,
                ansi=self.ansi,
                time_zone=self.time_zone,
                origin=origin,
                error=located(error, origin),
            )
