"""What stands in FROM: tables, streams, subqueries, VALUES and functions, and their joins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from ..model.errors import AnalysisError
from ..model.expressions.core import AttributeReference, Expression, Literal, Origin, lit
from ..model.expressions.intervals import interval_text
from ..model.expressions.subqueries import LateralJoin, LateralSubquery
from ..model.expressions.unresolved import UnresolvedAttribute, UnresolvedFunction
from ..model.plans.logical import (
    EventTimeWatermark,
    Generate,
    GlobalLimit,
    Join,
    JoinType,
    LocalLimit,
    watermark_node_id,
)
from ..model.plans.partitions import Sample
from ..model.plans.pivot import UnresolvedPivot
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import (
    LocalRelation,
    OneRowRelation,
    SubqueryAlias,
    UnresolvedInlineTable,
    UnresolvedRelation,
    UnresolvedTableFunction,
)
from ..model.plans.unpivot import UnresolvedUnpivot
from ..model.schemas.types import YearMonthIntervalType
from ..model.text.text import pretty
from .context import fragment_error, unsupported
from .expressions import ExpressionReader
from .nodes import LateralRelation, Pivoted, Sampled, TableFunction, Unpivoted, Watermark
from .samples import refused_sample

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


class RelationReader:
    """Reads relations for the reader of whole queries, which gives `query`."""

    expressions: ExpressionReader
    watermarks: Iterator[int]
    query: Callable[[Node], LogicalPlan]

    def source(self, node: Node) -> LogicalPlan:
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
                return self.inline_table(node)
            case Watermark():
                return self._watermark(node)
            case TableFunction():
                return self._table_function(node)
            case Sampled():
                return self._sample(node)
            case Pivoted():
                return self._pivot(node)
            case Unpivoted():
                return self._unpivot(node)
        raise unsupported(f"{type(node).__name__} in FROM", self.expressions.origin(node))

    def _table(self, table: Node, place: Node, streaming: bool) -> LogicalPlan:
        parts = tuple(part.name for part in table.parts)
        origin = self.expressions.origin(place)
        return UnresolvedRelation(parts=parts, streaming=streaming, origin=origin)

    def _table_function(self, node: Node) -> LogicalPlan:
        function = node.this
        match function.expressions:
            case [exp.Literal(is_string=True) as name] if function.this.upper() == "IDENTIFIER":
                parts = tuple(part.strip("`") for part in name.this.split("."))
                return UnresolvedRelation(parts=parts, origin=self.expressions.origin(function))
        return UnresolvedTableFunction(
            name=function.this,
            arguments=self.expressions.read_all(function.expressions),
            origin=self.expressions.origin(function),
        )

    def _sample(self, node: Node) -> LogicalPlan:
        """A share of the rows, or the first so many."""
        child = self.relation(node.this)
        if (error := refused_sample(node, self.expressions)) is not None:
            raise error
        sizes = [self._number(size) for size in node.args["sizes"]]
        seed = node.args.get("seed")
        if node.args["kind"] == "ROWS":
            limit = lit(int(sizes[0]))
            return GlobalLimit(child=LocalLimit(child=child, limit=limit), limit=limit)
        share = sizes[0] / 100 if node.args["kind"] == "PERCENT" else sizes[0] / sizes[1]
        return Sample(
            child=child,
            lower=0.0,
            upper=share,
            seed=None if seed is None else int(self._number(seed)),
            origin=self.expressions.origin(node),
        )

    def _number(self, node: Node) -> float:
        value = self.expressions.read(node)
        if isinstance(value, Literal) and value.value is not None:
            return float(str(value.value))
        raise unsupported("A size of a sample that is no number", self.expressions.origin(node))

    def _pivot(self, node: Node) -> LogicalPlan:
        origin = self.expressions.origin(node)
        columns = tuple(
            UnresolvedAttribute(parts=(column.name,), origin=origin)
            for column in node.args["columns"]
        )
        pairs = tuple(e for column in columns for e in (lit(column.parts[0]), column))
        whole = UnresolvedFunction(name="named_struct", arguments=pairs, origin=origin)
        return UnresolvedPivot(
            child=self.relation(node.this),
            column=whole if len(columns) > 1 else columns[0],
            values=self.expressions.read_all(node.args["values"]),
            aggregates=self.expressions.read_all(node.args["aggregates"]),
            origin=origin,
        )

    def _unpivot(self, node: Node) -> LogicalPlan:
        columns = node.args["columns"]
        names = tuple(
            None if column.args.get("alias") is None else column.args["alias"].name
            for column in columns
        )
        return UnresolvedUnpivot(
            child=self.relation(node.this),
            columns=tuple(self.expressions.read_all(column.expressions) for column in columns),
            names=names,
            value_names=tuple(name.name for name in node.args["values"]),
            name_column=node.args["name"].name,
            include_nulls=bool(node.args.get("nulls")),
            origin=self.expressions.origin(node),
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
        if isinstance(node.this, LateralRelation):
            self._check_lateral(node)
            query = LateralSubquery(
                plan=self.relation(node.this.this), origin=self.expressions.origin(node.this)
            )
            return LateralJoin(
                child=left,
                query=query,
                join_type=_JOIN_TYPES[(node.args.get("side"), node.args.get("kind"))],
                condition=None if condition is None else self.expressions.read(condition),
                origin=self.expressions.origin(node),
            )
        return Join(
            left=left,
            right=self.relation(node.this, node),
            join_type=_JOIN_TYPES[(node.args.get("side"), node.args.get("kind"))],
            condition=None if condition is None else self.expressions.read(condition),
            using=tuple(name.name for name in using),
            natural=node.args.get("method") == "NATURAL",
            origin=self.expressions.origin(node),
        )

    def _check_lateral(self, node: Node) -> None:
        kind = _JOIN_TYPES[(node.args.get("side"), node.args.get("kind"))]
        if kind in ("Inner", "Cross", "LeftOuter"):
            return
        words = {"RightOuter": "RIGHT OUTER", "FullOuter": "FULL OUTER", "LeftSemi": "LEFT SEMI"}
        raise fragment_error(
            "INVALID_LATERAL_JOIN_TYPE",
            f"[INVALID_LATERAL_JOIN_TYPE] The {words.get(kind, 'LEFT ANTI')} JOIN with LATERAL"
            " correlation is not allowed because an OUTER subquery cannot correlate to its join"
            " partner. Remove the LATERAL correlation or use an INNER JOIN, or LEFT OUTER JOIN"
            " instead. SQLSTATE: 42613",
            self.expressions.origin(node),
            hint="Put the subquery on the right of a left join.",
        )

    def lateral_view(self, node: Node, child: LogicalPlan) -> LogicalPlan:
        alias = node.args["alias"]
        return Generate(
            child=child,
            generator=self.expressions.read(node.this),
            outer=bool(node.args.get("outer")),
            generated=tuple(UnresolvedAttribute(parts=(c.name,)) for c in alias.columns),
            alias=alias.name.lower(),
            origin=self.expressions.origin(node),
        )

    def inline_table(self, node: Node) -> LogicalPlan:
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
