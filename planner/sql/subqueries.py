"""Queries inside expressions: scalar subqueries, EXISTS and IN."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ..model.expressions.core import Expression
from ..model.expressions.subqueries import Exists, InSubquery, ListQuery, ScalarSubquery
from ..model.plans.query_plan import LogicalPlan
from .literal_reader import LiteralReader, Node


class SubqueryReader(LiteralReader):
    """Reads subqueries; `read_query` is set by the reader of plans that this one works for."""

    read_query: Callable[[Node], LogicalPlan]
    read: Callable[[Node], Expression]

    def in_query(self, node: Node) -> Expression:
        """`value IN (query)` or `(a, b) IN (query)`."""
        left = node.this
        written = left.expressions if isinstance(left, exp.Tuple) else [left]
        values = tuple(self.read(value) for value in written)
        query = ListQuery(plan=self._plan(node.args["query"]), origin=self.origin(node))
        return InSubquery(values=values, query=query, origin=self.origin(node))

    def subquery(self, node: Node) -> Expression:
        """`(query)` where a value is expected."""
        return ScalarSubquery(plan=self._plan(node.this), origin=self.origin(node))

    def exists(self, node: Node) -> Expression:
        """`EXISTS (query)`."""
        return Exists(plan=self._plan(node.this), origin=self.origin(node))

    def _plan(self, node: Node) -> LogicalPlan:
        windows = self.windows  # the inner query's own take their place while it is read
        try:
            return self.read_query(node)
        finally:
            self.windows = windows
