"""What follows `|>`: each operator makes a query of the query before it.

As Spark's AstBuilder does, most operators become the plan that their clause has without pipes;
`PipeExpression` and `PipeOperator` keep for analysis what only pipes forbid.
"""

from __future__ import annotations

from dataclasses import replace

from ..model.expressions.core import Alias, Expression, Literal, Origin
from ..model.expressions.unresolved import (
    PipeExpression,
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedOrdinal,
    UnresolvedPipeAggregateOrdinal,
    UnresolvedStar,
)
from ..model.expressions.windows import WindowExpression
from ..model.plans.logical import Aggregate, Filter, Project
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import PipeOperator, SubqueryAlias
from ..model.schemas.types import INT
from .calls import NamedWindow
from .cursor import CLAUSE_WORDS
from .errors import not_allowed, pipe_aggregation, unsupported
from .grouping import Grouping
from .queries import SET_OPERATORS, QueryParser, set_operation
from .relations import JOIN_WORDS

_SYNTAX = "spark.sql.operatorPipeSyntaxEnabled"
_OPERATORS = ("SELECT", "EXTEND", "SET", "DROP", "AS", "WHERE", "AGGREGATE")
_NO_LIST = CLAUSE_WORDS | {")", ";", "|>"}
_ANALYTICS = {"cube": "GROUP BY CUBE", "rollup": "GROUP BY ROLLUP"}
_NO_WINDOWS = (
    "window functions; please update the query to move the window functions to a subsequent "
    "|> SELECT operator instead"
)


Expressions = tuple[Expression, ...]


class PipeParser(QueryParser):
    """Reads queries with pipe operators."""

    def pipe_operator(self, left: LogicalPlan) -> LogicalPlan:
        """The plan of the operator that comes next over the plan of what stands before `|>`."""
        start = self.index
        query = self._query_origin()
        if not self.conf.flag(_SYNTAX):
            self.refuse(not_allowed("Operator pipe SQL syntax using |>", query))
        word = self.token.symbol
        if word in JOIN_WORDS:
            return self.join(left)
        if word in SET_OPERATORS:
            self.advance()
            is_all = self.is_all()
            right = self.query_primary()
            return set_operation(word, left, right, is_all=is_all, origin=query)
        match word:
            case "PIVOT" | "UNPIVOT":
                return self._turned(start, left, query)
            case "TABLESAMPLE":
                return self.sample(left)
        match self.take_one(_OPERATORS):
            case "SELECT":
                return self.select(start, left, piped=True)
            case "EXTEND":
                star = UnresolvedStar(origin=query)
                items = (star, *self._computed("EXTEND"))
                return Project(child=left, project_list=items, origin=query)
            case "SET":
                return self._assigned(left, query)
            case "DROP":
                names = tuple(self.listed(self.qualified_name))
                star = UnresolvedStar(except_names=names, origin=query)
                return Project(child=left, project_list=(star,), origin=query)
            case "AS":
                return SubqueryAlias(child=left, alias=self.plain_name(), origin=query)
            case "WHERE":
                condition = self.expression()
                if self.window_clause() is not None:
                    self.refuse_at(
                        "NOT_ALLOWED_IN_PIPE_OPERATOR_WHERE.WINDOW_CLAUSE", self._query_origin()
                    )
                return Filter(child=PipeOperator(child=left), condition=condition, origin=query)
            case "AGGREGATE":
                return self._aggregate(left, query)
        if self.ahead("BIN", "BY"):
            raise unsupported("BIN BY", self.span(self.token.start, self.peek().stop))
        return self.organized(PipeOperator(child=left), piped=True)

    def _query_origin(self) -> Origin:
        """The whole query that the operator belongs to, to its closing bracket or the end."""
        depth, index = 0, self.index
        while self.tokens[index].kind != "end" and self.tokens[index].symbol != ";":
            symbol = self.tokens[index].symbol
            depth += (symbol == "(") - (symbol == ")")
            if depth < 0:
                break
            index += 1
        return self.span(self.tokens[self.query_start].start, self.tokens[index - 1].stop)

    def _computed(self, clause: str) -> Expressions:
        """The list of EXTEND or AGGREGATE."""
        found = []
        for item in self.listed(self.named_expression):
            alias = item if isinstance(item, Alias) else UnresolvedAlias(child=item)
            child = PipeExpression(child=alias.child, clause=clause, origin=item.origin)
            found.append(replace(alias, child=child, origin=item.origin))
        return tuple(found)

    def _assigned(self, left: LogicalPlan, query: Origin) -> LogicalPlan:
        """`a = b, c = a`: one Project for each, as a column may use those set before it."""
        start, dotted = self.index, False
        assignments: list[tuple[str, Expression]] = []
        while not assignments or self.take(","):
            name = self.name()
            while self.take("."):
                self.name()
                dotted = True
            if not self.take("="):
                self.need("==")
            assignments.append((name, self.expression()))
        if dotted:
            what = (
                "SQL pipe syntax |> SET operator with multi-part assignment key (only single-part "
                "keys are allowed)"
            )
            self.refuse(not_allowed(what, self.origin(start)))
        for name, value in assignments:
            computed = PipeExpression(child=value, clause="SET", origin=value.origin)
            replacement = Alias(child=computed, name=name, origin=query)
            star = UnresolvedStar(except_names=((name,),), replacement=replacement, origin=query)
            left = Project(child=left, project_list=(star,), origin=query)
        return left

    def _turned(self, start: int, left: LogicalPlan, query: Origin) -> LogicalPlan:
        """PIVOT or UNPIVOT; the grammar has both behind one `|>`, Spark has not."""
        turned = left
        read: list[str] = []
        while len(read) < 2 and self.token.symbol in ({"PIVOT", "UNPIVOT"} - set(read)):
            read.append(self.token.symbol)
            turned = self.turned(start, turned)
        if len(read) > 1:
            self.refuse_at("NOT_ALLOWED_IN_FROM.UNPIVOT_WITH_PIVOT", query)
        return turned

    # ----------------------------------------------------------------------------------- AGGREGATE

    def _aggregate(self, left: LogicalPlan, query: Origin) -> LogicalPlan:
        """`AGGREGATE count(*) GROUP BY a AS b`: the keys, then what is aggregated."""
        listed = self.token.kind != "end" and self.token.symbol not in _NO_LIST
        items = self._computed("AGGREGATE") if listed else ()
        if not self.take("GROUP", "BY"):
            if not items:
                what = (
                    "The AGGREGATE clause requires a list of aggregate expressions or a list of "
                    "grouping expressions, or both"
                )
                self.refuse(not_allowed(what, query))
            return Aggregate(child=left, grouping=(), aggregates=_placed(items), origin=query)
        grouping = self.grouping(named=True)
        self._refuse_cases(grouping, items, query)
        columns: list[Expression] = []
        keys: list[Expression] = []
        by_position = self.conf.flag("spark.sql.groupByOrdinal")
        for key in grouping[0]:
            column: Expression = key
            match key:
                case Literal(value=int(number), type_=kind) if by_position and kind == INT:
                    column = UnresolvedPipeAggregateOrdinal(ordinal=number, origin=key.origin)
                    key = UnresolvedOrdinal(ordinal=len(columns) + 1, origin=key.origin)
                case Alias() | UnresolvedAttribute():
                    pass
                case _:
                    column = UnresolvedAlias(child=key, origin=key.origin)
            keys.append(key)
            columns.append(column)
        return Aggregate(
            child=left,
            grouping=tuple(keys),
            aggregates=(*columns, *_placed(items, grouping[0])),
            origin=query,
        )

    def _refuse_cases(self, grouping: Grouping, items: Expressions, query: Origin) -> None:
        """What Spark's AGGREGATE cannot do yet: of several things the first in its order."""
        keys, analytics = grouping
        match keys:
            case (UnresolvedAttribute(parts=(name,)),) if name.upper() == "ALL":
                self.refuse(pipe_aggregation("GROUP BY ALL", query))
        if analytics is not None:
            case = _ANALYTICS.get(analytics[0], "GROUPING SETS")
            self.refuse(pipe_aggregation(case, query))
        for expression in (*keys, *items):
            for node in expression.walk():
                match node:
                    case UnresolvedFunction(name=name, arguments=(_,)) if name.upper() in (
                        "GROUPING",
                        "GROUPING_ID",
                    ):
                        self.refuse(pipe_aggregation(name.upper(), query))
                    case WindowExpression() if not isinstance(node, NamedWindow):
                        self.refuse(pipe_aggregation(_NO_WINDOWS, query))


def _placed(items: Expressions, keys: Expressions = ()) -> Expressions:
    """The entries of AGGREGATE with the place that Spark gives if one is a mere column.

    It is mostly that of the first column which the operator names.
    """
    named = (node for e in (*keys, *items) for node in e.walk())
    first = next((node.origin for node in named if isinstance(node, UnresolvedAttribute)), None)

    def placed(node: Expression) -> Expression:
        return replace(node, origin=first) if isinstance(node, PipeExpression) else node

    return tuple(item.transform_up(placed) for item in items)
