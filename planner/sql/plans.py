"""From sqlglot's queries to unresolved logical plans, built as Spark's parser builds them."""

from __future__ import annotations

from itertools import count
from typing import Any

from sqlglot import exp

from ..model.errors import AnalysisError
from ..model.expressions.core import Expression, SortOrder, lit
from ..model.expressions.unresolved import UnresolvedAttribute
from ..model.expressions.windows import WindowExpression
from ..model.plans.hints import RawParameter, UnresolvedHint
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
from ..model.plans.partitions import PARTITION_HINTS, RepartitionByExpression
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import SubqueryAlias, UnresolvedWith
from ..model.plans.set_operations import Except, Intersect
from .context import duplicate_names, unsupported
from .expressions import ExpressionReader
from .grouping import GroupingReader
from .relations import RelationReader

Node = Any  # sqlglot carries no types here


class PlanReader(GroupingReader, RelationReader):
    """Turns one query into a logical plan."""

    def __init__(self, expressions: ExpressionReader) -> None:
        self.expressions = expressions
        expressions.read_query = self.query
        self.watermarks = count()

    # ----------------------------------------------------------------------------------- queries

    def query(self, node: Node) -> LogicalPlan:
        """A query with its WITH and its ORDER BY, LIMIT and OFFSET."""
        plan = self._organized(node, self._term(node))
        definitions = node.args.get("with_")
        if definitions is None:
            return plan
        if definitions.args.get("recursive"):
            raise unsupported("WITH RECURSIVE")
        named = tuple(self._definition(item) for item in definitions.expressions)
        names = [name for name, _ in named]
        if len({name.lower() for name in names}) < len(names):
            raise duplicate_names(names, self.expressions.text, definitions.meta["start"], node)
        return UnresolvedWith(child=plan, definitions=named)

    def _definition(self, node: Node) -> tuple[str, LogicalPlan]:
        alias = node.args["alias"]
        columns = tuple(column.name for column in alias.columns)
        child = self.query(node.this)
        origin = self.expressions.origin(node)
        return alias.name, SubqueryAlias(
            child=child, alias=alias.name, columns=columns, origin=origin
        )

    def _term(self, node: Node) -> LogicalPlan:
        match node:
            case exp.Select():
                return self._hinted(node, self._select(node))
            case exp.Union():
                return self._union(node)
            case exp.Subquery():
                return self.query(node.this)
            case exp.Values():
                return self.inline_table(node)
            case exp.Except() | exp.Intersect():
                return self._set_operation(node)
        raise unsupported(f"The query {type(node).__name__}", self.expressions.origin(node))

    def _union(self, node: Node) -> LogicalPlan:
        inputs = (self.query(node.this), self.query(node.expression))
        union = Union(inputs=inputs, origin=self.expressions.origin(node))
        return Distinct(child=union, origin=union.origin) if node.args["distinct"] else union

    def _set_operation(self, node: Node) -> LogicalPlan:
        kind = Except if isinstance(node, exp.Except) else Intersect
        return kind(
            left=self.query(node.this),
            right=self.query(node.expression),
            is_all=not node.args["distinct"],
            origin=self.expressions.origin(node),
        )

    def _organized(self, node: Node, plan: LogicalPlan) -> LogicalPlan:
        arguments = node.args
        for name in ("cluster", "distribute"):
            if clause := arguments.get(name):
                by = self.expressions.read_all(clause.expressions)
                plan = RepartitionByExpression(child=plan, by=by)
                if name == "cluster":
                    order = tuple(SortOrder(child=e, origin=e.origin) for e in by)
                    plan = Sort(child=plan, order=order, is_global=False)
        for name, is_global in (("order", True), ("sort", False)):
            if clause := arguments.get(name):
                order = tuple(self.expressions.sort_order(item) for item in clause.expressions)
                origin = self.expressions.origin(clause)
                plan = Sort(child=plan, order=order, is_global=is_global, origin=origin)
        if clause := arguments.get("offset"):
            plan = Offset(child=plan, offset=self.expressions.read(clause.expression))
        if clause := arguments.get("limit"):
            limit = self.expressions.read(clause.expression)
            plan = GlobalLimit(child=LocalLimit(child=plan, limit=limit), limit=limit)
        return plan

    # ------------------------------------------------------------------------------------ SELECT

    def _hinted(self, node: Node, plan: LogicalPlan) -> LogicalPlan:
        hints = node.args.get("hint")
        for hint in reversed(hints.expressions if hints else []):
            plan = self._with_hint(hint, plan)
        return plan

    def _with_hint(self, hint: Node, plan: LogicalPlan) -> LogicalPlan:
        if hint.this.upper() in PARTITION_HINTS:
            parameters = tuple(self._hint_parameter(p, hint) for p in hint.expressions)
            return UnresolvedHint(child=plan, name=hint.this, parameters=parameters)
        tables = tuple(tuple(table.name.replace("`", "").split(".")) for table in hint.expressions)
        origin = self.expressions.origin(hint)
        return UnresolvedHint(child=plan, name=hint.this, tables=tables, origin=origin)

    def _hint_parameter(self, node: Node, hint: Node) -> Expression:
        """A number, a column's name, plain or as a string; else a call that shows what it was."""
        text = node.name
        if text.isdigit():
            return lit(int(text))
        if text[0] in "'\"":
            return UnresolvedAttribute(parts=(text[1:-1],), origin=self.expressions.origin(hint))
        names = tuple(part.strip("`") for part in text.split("."))
        if all(name.replace("_", "a").isalnum() for name in names):
            return UnresolvedAttribute(parts=names, origin=self.expressions.origin(node))
        return RawParameter(raw=text)

    def _select(self, node: Node) -> LogicalPlan:
        windows = node.args.get("windows") or []
        self.expressions.windows = {w.args["alias"].name.lower(): w.this for w in windows}
        plan = self.source(node)
        for view in node.args.get("laterals") or []:
            plan = self.lateral_view(view, plan)
        if where := node.args.get("where"):
            condition = self.expressions.read(where.this)
            plan = Filter(child=plan, condition=condition, origin=self.expressions.origin(node))
        distinct = node.args.get("distinct")
        if distinct is None or not distinct.args.get("on"):
            plan = self._projected(node, plan)
            return plan if distinct is None else Distinct(child=plan, origin=plan.origin)
        keys = self._deduplication_keys(distinct)
        within = bool(distinct.meta.get("within_watermark"))
        if node.args.get("group") or node.args.get("having"):
            plan = self._projected(node, plan)
            return Deduplicate(child=plan, keys=keys, within_watermark=within)
        return self._projected(node, Deduplicate(child=plan, keys=keys, within_watermark=within))

    def _deduplication_keys(self, distinct: Node) -> tuple[Expression, ...]:
        keys = self.expressions.read_all(distinct.args["on"].expressions)
        for key in keys:
            if not isinstance(key, UnresolvedAttribute):
                raise AnalysisError(
                    "STATEPLAN_DEDUPLICATION_KEY",
                    "DISTINCT ON takes columns; one of its keys is an expression.",
                    hint="Compute the key in a subquery and name that column.",
                )
        return keys

    def _projected(self, node: Node, plan: LogicalPlan) -> LogicalPlan:
        entries = tuple(self.expressions.named(item) for item in node.expressions)
        plan = self._grouped(node, plan, entries)
        qualify = node.args.get("qualify")
        if qualify is None:
            return plan
        return UnresolvedQualify(
            child=plan,
            condition=self.expressions.read(qualify.this),
            listed=any(entry.holds(WindowExpression) for entry in entries),
            origin=self.expressions.origin(node),
        )

    def _grouped(
        self, node: Node, plan: LogicalPlan, entries: tuple[Expression, ...]
    ) -> LogicalPlan:
        group, having = node.args.get("group"), node.args.get("having")
        origin = self.expressions.origin(node)
        if group is None and having is None:
            return Project(child=plan, project_list=entries, origin=origin)
        grouping, analytics = self.grouping(group) if group is not None else ((), None)
        if group is not None:
            origin = self.expressions.origin(group)
        aggregate = Aggregate(
            child=plan,
            grouping=grouping,
            aggregates=entries,
            grouping_analytics=analytics,
            origin=origin,
        )
        if having is None:
            return aggregate
        condition = self.expressions.read(having.this)
        origin = self.expressions.origin(node)
        return UnresolvedHaving(child=aggregate, condition=condition, origin=origin)
