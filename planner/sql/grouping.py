"""GROUP BY: keys, and the sets of CUBE, ROLLUP and GROUPING SETS."""

from __future__ import annotations

from itertools import product
from typing import Any

from sqlglot import exp

from ..model.expressions.core import Expression
from .expressions import ExpressionReader

Node = Any  # sqlglot carries no types here

_ANALYTICS = {exp.Cube: "cube", exp.Rollup: "rollup", exp.GroupingSets: "grouping sets"}


class GroupingReader:
    """Reads GROUP BY clauses."""

    expressions: ExpressionReader

    def grouping(
        self, group: Node
    ) -> tuple[tuple[Expression, ...], tuple[str, tuple[tuple[Expression, ...], ...]] | None]:
        """The keys, and for CUBE, ROLLUP and GROUPING SETS the sets as written."""
        items = group.expressions
        analytic = [item for item in items if type(item) in _ANALYTICS]
        if not analytic:
            return self.expressions.read_all(items), None
        if len(items) == 1 and not any(type(entry) in _ANALYTICS for entry in items[0].expressions):
            sets = tuple(self._set(entry) for entry in items[0].expressions)
            keys = items[0].args.get("keys")  # those before GROUPING SETS come first
            first = () if keys is None else self.expressions.read_all(keys.expressions)
            return _distinct((first, *sets)), (_ANALYTICS[type(items[0])], sets)
        # Several of them multiply: every combination of their sets is a grouping set.
        choices = [self._sets(item) for item in items]
        combined = tuple(sum(parts, ()) for parts in product(*choices))
        return _distinct(combined), ("grouping sets", combined)

    def _set(self, node: Node) -> tuple[Expression, ...]:
        if isinstance(node, exp.Tuple):
            return self.expressions.read_all(node.expressions)
        if isinstance(node, exp.Paren):
            node = node.this
        return (self.expressions.read(node),)

    def _sets(self, node: Node) -> list[tuple[Expression, ...]]:
        """All grouping sets that one entry of GROUP BY stands for."""
        if isinstance(node, exp.GroupingSets):
            return [one for entry in node.expressions for one in self._sets_of_entry(entry)]
        if isinstance(node, exp.Rollup):
            parts = [self._set(entry) for entry in node.expressions]
            return [sum(parts[:size], ()) for size in range(len(parts), -1, -1)]
        if isinstance(node, exp.Cube):
            parts = [self._set(entry) for entry in node.expressions]
            return [
                sum((p for p, keep in zip(parts, chosen, strict=True) if keep), ())
                for chosen in product((True, False), repeat=len(parts))
            ]
        return [(self.expressions.read(node),)]

    def _sets_of_entry(self, node: Node) -> list[tuple[Expression, ...]]:
        return self._sets(node) if type(node) in _ANALYTICS else [self._set(node)]


def _distinct(sets: tuple[tuple[Expression, ...], ...]) -> tuple[Expression, ...]:
    """The expressions of all sets, each once, in the order in which they first appear."""
    return tuple(dict.fromkeys(expression for one in sets for expression in one))
