"""Spark's query grammar: SELECT and its clauses, set operations, ORDER BY and LIMIT, WITH.

Pipe operators stand among the set operations; pipes.py reads what follows `|>`.
"""

from __future__ import annotations

from dataclasses import replace

from ..model.errors import AnalysisError
from ..model.expressions.core import Alias, Expression, Origin
from ..model.expressions.unresolved import (
    PipeExpression,
    UnresolvedAlias,
    UnresolvedAttribute,
    select_entry,
)
from ..model.expressions.windows import WindowExpression
from ..model.frozen import dataclass
from ..model.plans.logical import (
    Aggregate,
    Deduplicate,
    Distinct,
    Filter,
    Project,
    Union,
    UnresolvedHaving,
    UnresolvedQualify,
)
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import SubqueryAlias, UnresolvedWith
from ..model.plans.set_operations import Except, Intersect
from .errors import duplicate_names, unsupported
from .grouping import Grouping
from .hints import Hint, read_hints
from .organization import OrganizationParser

SET_OPERATORS = ("UNION", "EXCEPT", "MINUS", "SETMINUS", "INTERSECT")
_BEGINNINGS = "SELECT, FROM, VALUES, TABLE, WITH or a query in brackets"


@dataclass(frozen=True, kw_only=True)
class _Quantifier:
    """DISTINCT, or `DISTINCT ON (keys)`, which means streaming deduplication here."""

    keys: tuple[Expression, ...] = ()
    within_watermark: bool = False


@dataclass(frozen=True, kw_only=True)
class _Select:
    """The clauses of a SELECT, None for those that are not there."""

    source: LogicalPlan
    condition: Expression | None
    grouping: Grouping | None
    group_origin: Origin | None
    entries: tuple[Expression, ...]
    having: Expression | None
    qualify: Expression | None
    quantifier: _Quantifier | None
    origin: Origin

    def plan(self) -> LogicalPlan:
        """The operators in the order in which Spark applies the clauses."""
        plan, origin = self.source, self.origin
        if self.condition is not None:
            plan = Filter(child=plan, condition=self.condition, origin=origin)
        aggregates = self.grouping is not None or self.having is not None
        if aggregates:
            keys, analytics = self.grouping or ((), None)
            plan = Aggregate(
                child=plan,
                grouping=keys,
                aggregates=self.entries,
                grouping_analytics=analytics,
                origin=self.group_origin or origin,
            )
        else:
            plan = self._deduplicated(plan)
            plan = Project(child=plan, project_list=self.entries, origin=origin)
        if self.having is not None:
            plan = UnresolvedHaving(child=plan, condition=self.having, origin=origin)
        if self.qualify is not None:
            listed = any(entry.holds(WindowExpression) for entry in self.entries)
            plan = UnresolvedQualify(
                child=plan, condition=self.qualify, listed=listed, origin=origin
            )
        if self.quantifier is not None and not self.quantifier.keys:
            return Distinct(child=plan, origin=plan.origin)
        return self._deduplicated(plan) if aggregates else plan

    def _deduplicated(self, plan: LogicalPlan) -> LogicalPlan:
        """The plan below `DISTINCT ON (keys)`, which comes after an aggregation alone."""
        if self.quantifier is None or not self.quantifier.keys:
            return plan
        within = self.quantifier.within_watermark
        return Deduplicate(child=plan, keys=self.quantifier.keys, within_watermark=within)


class QueryParser(OrganizationParser):
    """Reads one query of Spark's SQL with its streaming clauses."""

    query_start = 0
    """Where the innermost query begins that is being read."""

    def pipe_operator(self, left: LogicalPlan) -> LogicalPlan:
        """What stands behind `|>`, over what stands before."""
        raise NotImplementedError

    def query(self) -> LogicalPlan:
        around, self.query_start = self.query_start, self.index
        plan = self._query()
        self.query_start = around
        return plan

    def _query(self) -> LogicalPlan:
        start = self.index
        definitions: list[tuple[str, LogicalPlan]] = []
        if self.take("WITH"):
            if self.ahead("RECURSIVE") and self.peek().symbol not in ("AS", "("):
                self.refuse(unsupported("WITH RECURSIVE"))
                self.advance()
            definitions = self.listed(self._definition)
        plan = self.organized(self._term())
        if not definitions:
            return plan
        names = [name for name, _ in definitions]
        if len({name.lower() for name in names}) < len(names):
            self.refuse(duplicate_names(names, self.origin(start)))
        return UnresolvedWith(child=plan, definitions=tuple(definitions))

    def _definition(self) -> tuple[str, LogicalPlan]:
        start = self.index
        name = self.name()
        columns: list[str] = []
        if self.token.symbol == "(" and not self.is_query_ahead():
            columns = self.bracketed_list(self.name)
        self.take("AS")
        child = self.bracketed(self.query)
        origin = self.origin(start)
        return name, SubqueryAlias(child=child, alias=name, columns=tuple(columns), origin=origin)

    # --------------------------------------------------------------------------- set operations

    def _term(self) -> LogicalPlan:
        """Set and pipe operators, applied from the left; INTERSECT goes before the other sets."""
        start = self.index
        left = self.query_primary()
        while True:
            if self.take("|>"):
                left = self.pipe_operator(left)
            elif word := self.take_one(SET_OPERATORS):
                is_all = self.is_all()
                right = self.query_primary() if word == "INTERSECT" else self._intersection()
                left = set_operation(word, left, right, is_all=is_all, origin=self.origin(start))
            else:
                return left

    def _intersection(self) -> LogicalPlan:
        start = self.index
        left = self.query_primary()
        while self.take("INTERSECT"):
            is_all = self.is_all()
            right = self.query_primary()
            left = Intersect(left=left, right=right, is_all=is_all, origin=self.origin(start))
        return left

    def is_all(self) -> bool:
        """ALL or DISTINCT behind a set operator. Spark's grammar has no BY NAME."""
        return self.take_one(("ALL", "DISTINCT")) == "ALL"

    def query_primary(self) -> LogicalPlan:
        start = self.index
        match self.take_one(("SELECT", "VALUES", "FROM", "TABLE")):
            case "SELECT":
                return self.select(start)
            case "VALUES":
                return self.inline_table()
            case "FROM":
                self.move(start)
                return self._from_first(start)
            case "TABLE":
                return self.table()
        if self.token.symbol != "(":
            self.fail(_BEGINNINGS)
        return self.bracketed(self.query)

    def _from_first(self, start: int) -> LogicalPlan:
        """`FROM t SELECT a WHERE b`; several of SELECT are a union, none is all of t."""
        source = self.lateral_views(self.from_clause())
        plans = []
        while self.take("SELECT"):
            plans.append(self.organized(self.select(start, source)))
        if len(plans) > 1:
            return Union(inputs=tuple(plans), origin=self.origin(start))
        return plans[0] if plans else source

    # -------------------------------------------------------------------------------------- SELECT

    def select(
        self, start: int, source: LogicalPlan | None = None, *, piped: bool = False
    ) -> LogicalPlan:
        """What stands behind SELECT.

        Args:
            start: where the clause begins.
            source: what FROM before it gives, or the query before a pipe.
            piped: it stands behind `|>`, where only GROUP BY and WINDOW may follow it.
        """
        hints = self._hints()
        quantifier = self._quantifier()
        before = len(self.refusals)
        entries = tuple(select_entry(item) for item in self.listed(self.named_expression))
        # Spark reads FROM and WHERE before the select list.
        listed, self.refusals[before:] = self.refusals[before:], []
        plan = self.from_clause() if source is None else source
        condition = None
        if not piped:
            plan = self.lateral_views(plan)
            condition = self.expression() if self.take("WHERE") else None
        self.refusals += listed
        group_start = self.index
        grouping = group_origin = having = qualify = None
        if self.take("GROUP", "BY"):
            grouping, group_origin = self.grouping(), self.origin(group_start)
        if not piped and self.take("HAVING"):
            having = self.expression()
        windows = self.window_clause()
        if not piped and self.take("QUALIFY"):
            qualify = self.expression()
        if piped and grouping is None:
            entries = tuple(_piped(entry) for entry in entries)
        clauses = _Select(
            source=plan,
            condition=condition,
            grouping=grouping,
            group_origin=group_origin,
            entries=entries,
            having=having,
            qualify=qualify,
            quantifier=quantifier,
            origin=self.origin(start),
        )
        plan = clauses.plan()
        if windows is not None:
            plan = self.with_windows(plan, windows, piped=piped)
        for hint in reversed(hints):
            plan = hint.over(plan)
        return plan

    def _hints(self) -> list[Hint]:
        hints: list[Hint] = []
        while self.token.kind == "hint":
            hints += read_hints(self.token, self.text, self.conf)
            self.advance()
        return hints

    def _quantifier(self) -> _Quantifier | None:
        following = self.peek()
        if following.symbol in (",", ".") or following.kind == "end":
            return None
        if self.ahead("DISTINCT", "FROM"):
            return None
        if not self.take("DISTINCT"):
            self.take("ALL")
            return None
        if not self.take("ON", "("):
            return _Quantifier()
        keys = tuple(self.listed(self.expression))
        self.need(")")
        if not all(isinstance(key, UnresolvedAttribute) for key in keys):
            self.refuse(AnalysisError.of("STATEPLAN_DEDUPLICATION_KEY"))
        return _Quantifier(keys=keys, within_watermark=self.take("WITHIN", "WATERMARK"))


def _piped(entry: Expression) -> Expression:
    """An entry of `|> SELECT`, which may aggregate; Spark marks it like those that may not."""
    if not isinstance(entry, Alias | UnresolvedAlias):
        return entry
    child = PipeExpression(child=entry.child, clause="SELECT", origin=entry.origin)
    return replace(entry, child=child)


def set_operation(
    word: str, left: LogicalPlan, right: LogicalPlan, *, is_all: bool, origin: Origin
) -> LogicalPlan:
    """UNION, INTERSECT, EXCEPT (or MINUS, SETMINUS) of two queries."""
    if word == "INTERSECT":
        return Intersect(left=left, right=right, is_all=is_all, origin=origin)
    if word != "UNION":
        return Except(left=left, right=right, is_all=is_all, origin=origin)
    union = Union(inputs=(left, right), origin=origin)
    return union if is_all else Distinct(child=union, origin=origin)
