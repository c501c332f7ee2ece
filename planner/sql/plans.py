"""From sqlglot's queries to unresolved logical plans, built as Spark's parser builds them."""

from __future__ import annotations

from itertools import count
from typing import Any

from sqlglot import exp

from ..model.errors import AnalysisError
from ..model.expressions import (
    AttributeReference,
    Expression,
    Literal,
    Origin,
    SortOrder,
    lit,
)
from ..model.hints import RawParameter, UnresolvedHint
from ..model.intervals import interval_text
from ..model.logical import (
    Aggregate,
    Deduplicate,
    Distinct,
    EventTimeWatermark,
    Filter,
    Generate,
    GlobalLimit,
    Join,
    JoinType,
    LocalLimit,
    Offset,
    Project,
    Sort,
    Union,
    UnresolvedHaving,
    watermark_node_id,
)
from ..model.partitions import PARTITION_HINTS, RepartitionByExpression
from ..model.query_plan import LogicalPlan
from ..model.relations import (
    LocalRelation,
    OneRowRelation,
    SubqueryAlias,
    UnresolvedInlineTable,
    UnresolvedRelation,
    UnresolvedTableFunction,
    UnresolvedWith,
)
from ..model.set_operations import Except, Intersect
from ..model.text import pretty
from ..model.types import YearMonthIntervalType
from ..model.unresolved import UnresolvedAttribute
from .context import duplicate_names, unsupported
from .expressions import ExpressionReader
from .grouping import GroupingReader
from .nodes import TableFunction, Watermark

Node = Any  # sqlglot carries no types here

_UNNAMED = "__auto_generated_subquery_name"
_JOIN_TYPES: dict[tuple[str | None, str | None], JoinType] = {
    (None, None): "Inner",
    (None, "INNER"): "Inner",
    (None, "COMMA"): "Inner",
    (None, "CROSS"): "Cross",
    ("LEFT", None): "LeftOuter",
    ("RIGHT", None): "RightOuter",
    ("FULL", None): "FullOuter",
    ("LEFT", "SEMI"): "LeftSemi",
    (None, "SEMI"): "LeftSemi",
    ("LEFT", "ANTI"): "LeftAnti",
    (None, "ANTI"): "LeftAnti",
}


class PlanReader(GroupingReader):
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
                return self._values(node)
            case exp.Except() | exp.Intersect():
                return self._set_operation(node)
        raise unsupported(f"The query {type(node).__name__}", self.expressions.origin(node))

    def _union(self, node: Node) -> LogicalPlan:
        inputs = (self.query(node.this), self.query(node.expression))
        by_name = bool(node.args.get("by_name"))
        union = Union(inputs=inputs, by_name=by_name, origin=self.expressions.origin(node))
        return Distinct(child=union) if node.args["distinct"] else union

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
        return UnresolvedHint(child=plan, name=hint.this, tables=tables)

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
        plan = self._from(node)
        for view in node.args.get("laterals") or []:
            plan = self._lateral_view(view, plan)
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

    # -------------------------------------------------------------------------------------- FROM

    def _from(self, node: Node) -> LogicalPlan:
        clause = node.args.get("from_")
        if clause is None:
            return OneRowRelation()
        plan = self.relation(clause.this, clause)
        for join in node.args.get("joins") or []:
            plan = self._join(join, plan)
        return plan

    def relation(self, node: Node, around: Node | None = None) -> LogicalPlan:
        """Something of FROM with its alias, its watermark and the joins behind it.

        `around` is the clause that it belongs to: a stream's alias is placed there, as in Spark.
        """
        place = around if around is not None and _is_stream(node) else node
        plan = self._aliased(node, self._relation(node), self.expressions.origin(place))
        for join in node.args.get("joins") or []:
            plan = self._join(join, plan)
        return plan

    def _relation(self, node: Node) -> LogicalPlan:
        match node:
            case exp.Table():
                return self._table(node, node, streaming=False)
            case exp.Stream():
                return self._table(node.this, node, streaming=True)
            case exp.Subquery():
                return self.query(node.this)
            case exp.Paren():
                return self.relation(node.this)
            case exp.Values():
                return self._values(node)
            case Watermark():
                return self._watermark(node)
            case TableFunction():
                return self._table_function(node)
        raise unsupported(f"{type(node).__name__} in FROM", self.expressions.origin(node))

    def _table(self, table: Node, place: Node, streaming: bool) -> LogicalPlan:
        parts = tuple(part.name for part in table.parts)
        origin = self.expressions.origin(place)
        return UnresolvedRelation(parts=parts, streaming=streaming, origin=origin)

    def _table_function(self, node: Node) -> LogicalPlan:
        function = node.this
        return UnresolvedTableFunction(
            name=function.this,
            arguments=self.expressions.read_all(function.expressions),
            origin=self.expressions.origin(function),
        )

    def _aliased(self, node: Node, plan: LogicalPlan, origin: Origin) -> LogicalPlan:
        if isinstance(node, exp.Values):
            return plan
        alias = node.args.get("alias")
        if alias is None:
            return (
                SubqueryAlias(child=plan, alias=_UNNAMED)
                if isinstance(node, exp.Subquery)
                else plan
            )
        columns = tuple(column.name for column in alias.columns)
        return SubqueryAlias(child=plan, alias=alias.name, columns=columns, origin=origin)

    def _watermark(self, node: Node) -> LogicalPlan:
        child = self.relation(node.this)
        delay = self.expressions.read(node.args["delay"])
        assert isinstance(delay, Literal) and isinstance(delay.value, int)
        whole = delay.value
        months = isinstance(delay.data_type, YearMonthIntervalType)
        amount = (whole, 0, 0) if months else (0, 0, whole)
        if whole < 0:
            raise AnalysisError(
                None,
                f"requirement failed: delay threshold ({pretty(delay)}) should not be negative.",
                hint="A watermark's delay is zero or more.",
            )
        return EventTimeWatermark(
            child=child,
            event_time=self.expressions.read(node.args["column"]),
            delay=amount,
            delay_text=interval_text(*amount),
            node_id=watermark_node_id(next(self.watermarks)),
            origin=self.expressions.origin(node),
        )

    def _join(self, node: Node, left: LogicalPlan) -> LogicalPlan:
        using = node.args.get("using") or []
        condition = node.args.get("on")
        return Join(
            left=left,
            right=self.relation(node.this, node),
            join_type=_JOIN_TYPES[(node.args.get("side"), node.args.get("kind"))],
            condition=None if condition is None else self.expressions.read(condition),
            using=tuple(name.name for name in using),
            natural=node.args.get("method") == "NATURAL",
            origin=self.expressions.origin(node),
        )

    def _lateral_view(self, node: Node, child: LogicalPlan) -> LogicalPlan:
        alias = node.args["alias"]
        return Generate(
            child=child,
            generator=self.expressions.read(node.this),
            outer=bool(node.args.get("outer")),
            generated=tuple(UnresolvedAttribute(parts=(c.name,)) for c in alias.columns),
            alias=alias.name.lower(),
            origin=self.expressions.origin(node),
        )

    def _values(self, node: Node) -> LogicalPlan:
        rows = tuple(
            self.expressions.read_all(row.expressions)
            if isinstance(row, exp.Tuple)
            else (self.expressions.read(row),)
            for row in node.expressions
        )
        alias = node.args.get("alias")
        names = tuple(c.name for c in alias.columns) if alias else ()
        names = names or tuple(f"col{i + 1}" for i in range(len(rows[0])))
        table = _local_relation(names, rows) or UnresolvedInlineTable(
            names=names, rows=rows, origin=self.expressions.origin(node)
        )
        return SubqueryAlias(child=table, alias=alias.name) if alias else table


def _is_stream(node: Node) -> bool:
    while isinstance(node, Watermark):
        node = node.this
    return isinstance(node, exp.Stream)


def _local_relation(
    names: tuple[str, ...], rows: tuple[tuple[Expression, ...], ...]
) -> LogicalPlan | None:
    """Rows of literals whose types agree column by column; None where analysis has to look."""
    if any(len(row) != len(names) for row in rows):
        return None
    literals = [tuple(v for v in row if isinstance(v, Literal)) for row in rows]
    if any(len(row) != len(names) for row in literals):
        return None
    attributes = []
    for index, name in enumerate(names):
        column = [row[index] for row in literals]
        kinds = {value.data_type for value in column if value.value is not None}
        if len(kinds) != 1:
            return None
        nullable = any(value.value is None for value in column)
        kind = kinds.pop()
        attributes.append(AttributeReference(name=name, type_=kind, is_nullable=nullable))
    kinds_ = [attribute.data_type for attribute in attributes]
    typed = tuple(
        tuple(Literal(value=v.value, type_=kind) for v, kind in zip(row, kinds_, strict=True))
        for row in literals
    )
    return LocalRelation(attributes=tuple(attributes), rows=typed)
