"""Spark's query grammar: SELECT and its clauses, set operations, ORDER BY and LIMIT, WITH."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.expressions.core import Alias, Expression, SortOrder
from ..model.expressions.unresolved import (
    MultiAlias,
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedStar,
)
from ..model.expressions.windows import WindowExpression
from ..model.plans.logical import (
    Aggregate,
    Deduplicate,
    Distinct,
    Filter,
    GlobalLimit,
    LocalLimit,
    Offset,
    Project,
    Sort,
    Union,
    UnresolvedHaving,
    UnresolvedQualify,
)
from ..model.plans.partitions import RepartitionByExpression
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import SubqueryAlias, UnresolvedWith
from ..model.plans.set_operations import Except, Intersect
from .calls import NamedWindow, WindowSpec
from .errors import deduplication_key, duplicate_names, missing_window, unsupported
from .grouping import GroupingParser
from .hints import Hint, read_hints

_SET_OPERATORS = ("UNION", "EXCEPT", "MINUS", "SETMINUS")
_BEGINNINGS = "SELECT, FROM, VALUES, TABLE, WITH or a query in brackets"
_Windows = dict[str, WindowSpec]


@dataclass(frozen=True, kw_only=True)
class _Quantifier:
    """DISTINCT, or `DISTINCT ON (keys)`, which means streaming deduplication here."""

    keys: tuple[Expression, ...] = ()
    within_watermark: bool = False


class QueryParser(GroupingParser):
    """Reads one query of Spark's SQL with its streaming clauses."""

    def query(self) -> LogicalPlan:
        start = self.index
        definitions: list[tuple[str, LogicalPlan]] = []
        if self.take("WITH"):
            if self.ahead("RECURSIVE") and self.peek().symbol not in ("AS", "("):
                self.refuse(unsupported("WITH RECURSIVE"))
                self.advance()
            definitions = self.listed(self._definition)
        plan = self._organized(self._term())
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
        start = self.index
        left = self._intersection()
        while word := self.take_one(_SET_OPERATORS):
            is_all = self._is_all()
            right = self._intersection()
            origin = self.origin(start)
            if word != "UNION":
                left = Except(left=left, right=right, is_all=is_all, origin=origin)
                continue
            left = Union(inputs=(left, right), origin=origin)
            if not is_all:
                left = Distinct(child=left, origin=origin)
        if self.token.symbol == "|>":
            raise unsupported(
                "The operator |> of pipes", self.span(self.token.start, self.token.stop)
            )
        return left

    def _intersection(self) -> LogicalPlan:
        start = self.index
        left = self._query_primary()
        while self.take("INTERSECT"):
            is_all = self._is_all()
            right = self._query_primary()
            left = Intersect(left=left, right=right, is_all=is_all, origin=self.origin(start))
        return left

    def _is_all(self) -> bool:
        """ALL or DISTINCT behind a set operator. Spark's grammar has no BY NAME."""
        return self.take_one(("ALL", "DISTINCT")) == "ALL"

    def _query_primary(self) -> LogicalPlan:
        start = self.index
        match self.take_one(("SELECT", "VALUES", "FROM", "TABLE")):
            case "SELECT":
                return self._select(start)
            case "VALUES":
                return self.inline_table()
            case "FROM":
                self.move(start)
                return self._from_first(start)
            case "TABLE":
                table = self.table()
                origin = self.origin(start)
                return Project(
                    child=table, project_list=(UnresolvedStar(origin=origin),), origin=origin
                )
        if self.token.symbol != "(":
            self.fail(_BEGINNINGS)
        return self.bracketed(self.query)

    def _from_first(self, start: int) -> LogicalPlan:
        """`FROM t SELECT a WHERE b`; several of SELECT are a union, none is all of t."""
        source = self.lateral_views(self.from_clause())
        plans = []
        while self.take("SELECT"):
            plans.append(self._organized(self._select(start, source)))
        if len(plans) > 1:
            return Union(inputs=tuple(plans), origin=self.origin(start))
        return plans[0] if plans else source

    # ------------------------------------------------------------------ ORDER BY, LIMIT and others

    def _organized(self, plan: LogicalPlan) -> LogicalPlan:
        """ORDER BY, SORT BY, LIMIT, OFFSET behind a whole query term."""
        order, order_origin = [], None
        start = self.index
        if self.take("ORDER", "BY"):
            order, order_origin = self.listed(self.sort_order), self.origin(start)
        cluster = self._expressions_by("CLUSTER")
        distribute = self._expressions_by("DISTRIBUTE")
        sort, sort_origin = [], None
        start = self.index
        if self.take("SORT", "BY"):
            sort, sort_origin = self.listed(self.sort_order), self.origin(start)
        windows = self._named_windows()
        if cluster:
            plan = RepartitionByExpression(child=plan, by=cluster)
            by = tuple(SortOrder(child=e, origin=e.origin) for e in cluster)
            plan = Sort(child=plan, order=by, is_global=False)
        if distribute:
            plan = RepartitionByExpression(child=plan, by=distribute)
        if order:
            plan = Sort(child=plan, order=tuple(order), is_global=True, origin=order_origin)
        if sort:
            plan = Sort(child=plan, order=tuple(sort), is_global=False, origin=sort_origin)
        limit = None
        if self.take("LIMIT") and not self.take("ALL"):
            limit = self.expression()
        if self.take("OFFSET"):
            plan = Offset(child=plan, offset=self.expression())
        if limit is not None:
            plan = GlobalLimit(child=LocalLimit(child=plan, limit=limit), limit=limit)
        return self._with_windows(plan, windows)

    def _expressions_by(self, word: str) -> tuple[Expression, ...]:
        return tuple(self.listed(self.expression)) if self.take(word, "BY") else ()

    # ------------------------------------------------------------------------------------- windows

    def _named_windows(self) -> _Windows | None:
        """`WINDOW w AS (...), v AS w`, or None."""
        if not self.take("WINDOW"):
            return None
        found = dict(self.listed(self._named_window))
        return {name: found.get(spec.name.lower(), spec) for name, spec in found.items()}

    def _named_window(self) -> tuple[str, WindowSpec]:
        name = self.name().lower()
        self.need("AS")
        return name, self.window_spec()

    def _with_windows(self, plan: LogicalPlan, windows: _Windows | None) -> LogicalPlan:
        """The plan with the windows of its WINDOW clause in the place of their names."""
        if not self.named_windows:
            return plan

        def in_place(node: Expression) -> Expression:
            if not isinstance(node, NamedWindow):
                return node
            self.named_windows -= 1
            spec = (windows or {}).get(node.window.lower())
            if spec is None:
                return self.refuse(missing_window(node.window, None))
            return spec.over(node)

        return plan.transform_up(lambda node: node.transform_expressions(in_place))

    # -------------------------------------------------------------------------------------- SELECT

    def _select(self, start: int, source: LogicalPlan | None = None) -> LogicalPlan:
        """What stands behind SELECT, over what FROM before it gives."""
        hints: list[Hint] = []
        while self.token.kind == "hint":
            hints += read_hints(self.token, self.text, self.conf)
            self.advance()
        quantifier = self._quantifier()
        before = len(self.refusals)
        entries = tuple(_entry(item) for item in self.listed(self.named_expression))
        # Spark reads FROM and WHERE before the select list.
        listed, self.refusals[before:] = self.refusals[before:], []
        plan = self.from_clause() if source is None else source
        plan = self.lateral_views(plan)
        condition = self.expression() if self.take("WHERE") else None
        self.refusals += listed
        group_start = self.index
        grouping = group_origin = having = qualify = None
        if self.take("GROUP", "BY"):
            grouping, group_origin = self.grouping(), self.origin(group_start)
        if self.take("HAVING"):
            having = self.expression()
        windows = self._named_windows()
        if self.take("QUALIFY"):
            qualify = self.expression()
        origin = self.origin(start)

        def deduplicated(plan: LogicalPlan) -> LogicalPlan:
            if quantifier is None or not quantifier.keys:
                return plan
            within = quantifier.within_watermark
            return Deduplicate(child=plan, keys=quantifier.keys, within_watermark=within)

        if condition is not None:
            plan = Filter(child=plan, condition=condition, origin=origin)
        if grouping is None and having is None:
            plan = deduplicated(plan)
            plan = Project(child=plan, project_list=entries, origin=origin)
        else:
            keys, analytics = grouping or ((), None)
            plan = Aggregate(
                child=plan,
                grouping=keys,
                aggregates=entries,
                grouping_analytics=analytics,
                origin=group_origin or origin,
            )
        if having is not None:
            plan = UnresolvedHaving(child=plan, condition=having, origin=origin)
        if qualify is not None:
            listed_windows = any(entry.holds(WindowExpression) for entry in entries)
            plan = UnresolvedQualify(
                child=plan, condition=qualify, listed=listed_windows, origin=origin
            )
        if isinstance(quantifier, _Quantifier) and not quantifier.keys:
            plan = Distinct(child=plan, origin=plan.origin)
        elif grouping is not None or having is not None:
            plan = deduplicated(plan)
        for hint in reversed(hints):
            plan = hint.over(plan)
        return plan if windows is None else self._with_windows(plan, windows)

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
            self.refuse(deduplication_key())
        return _Quantifier(keys=keys, within_watermark=self.take("WITHIN", "WATERMARK"))


def _entry(item: Expression) -> Expression:
    """An entry of a select list, which gets a name from analysis if it has none."""
    if isinstance(item, Alias | MultiAlias | UnresolvedAttribute | UnresolvedStar):
        return item
    return UnresolvedAlias(child=item, origin=item.origin)
