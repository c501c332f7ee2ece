"""HAVING and ORDER BY over grouping sets: which columns names mean, `grouping(key)`.

After the sets are expanded a key has two columns below the aggregation: the rows' own and the one
that a set may leave null. ORDER BY means the latter. HAVING without functions of columns, and of
the right types, may name any key: Spark then resolves it before the sets are expanded. In any other
HAVING names mean columns of the select list, and in aggregate functions the rows' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import AttributeReference, Cast, Expression
from ....planner.model.expressions.equality import canonical
from ....planner.model.expressions.subqueries import SubqueryExpression
from ....planner.model.expressions.unresolved import UnresolvedAttribute, UnresolvedFunction
from ....planner.model.plans.logical import Aggregate, Expand, Project
from ....planner.model.registry import find
from ..context import Context
from ..expressions.expressions import Resolver
from ..failures import failure
from .grouping_sets import ID, POSITION, is_grouping_call, with_grouping_functions

Expressions = tuple[Expression, ...]


def is_expanded(plan: Aggregate) -> bool:
    """Whether the aggregation was made of grouping sets."""
    return isinstance(plan.child, Expand) and any(
        isinstance(key, AttributeReference) and key.name == ID for key in plan.grouping
    )


def without_sets() -> AnalysisError:
    """The refusal of `grouping(a)` over what has no grouping sets."""
    return failure(
        "UNSUPPORTED_GROUPING_EXPRESSION",
        hint="Name the keys of GROUP BY CUBE, ROLLUP or GROUPING SETS.",
    )


def having_over_sets(
    expressions: Expressions,
    output: tuple[AttributeReference, ...],
    aggregate: Aggregate,
    context: Context,
) -> Expressions:
    """Conditions of HAVING over an expanded aggregation whose columns are `output`."""
    names = _Names(output, aggregate, context)
    return tuple(names.before_expansion(e) or names.in_having(e) for e in expressions)


def ordered_over_sets(
    expressions: Expressions,
    output: tuple[AttributeReference, ...],
    aggregate: Aggregate,
    context: Context,
) -> Expressions:
    """Keys of ORDER BY over an expanded aggregation whose columns are `output`."""
    names = _Names(output, aggregate, context, fields=False)
    return tuple(names.in_order(e) for e in expressions)


class _Names:
    """What names mean over one expanded aggregation."""

    def __init__(
        self,
        output: tuple[AttributeReference, ...],
        aggregate: Aggregate,
        context: Context,
        *,
        fields: bool = True,
    ) -> None:
        assert isinstance(aggregate.child, Expand)
        projected = aggregate.child.child
        assert isinstance(projected, Project)
        rows = projected.child.output
        keys = tuple(
            takewhile(lambda k: k.name != ID, _columns(aggregate.grouping))  # the sets' own keys
        )
        sources = projected.project_list[len(rows) :]
        self.context = context
        self.keys = keys
        self.identity = next(k for k in _columns(aggregate.grouping) if k.name == ID)
        self.repeated = any(k.name == POSITION for k in _columns(aggregate.grouping))
        self.column_of = {
            canonical(source.children[0]): key for source, key in zip(sources, keys, strict=True)
        }
        self.above = Resolver(output, context, ambiguous=False, fields=fields)
        self.of_rows = Resolver(rows, context, ambiguous=False, fields=False)
        self.of_keys = Resolver(keys, context, ambiguous=False, fields=False)

    def before_expansion(self, condition: Expression) -> Expression | None:
        """The condition with keys for columns, if Spark resolves it before it expands the sets."""
        if condition.exists(_waits):
            return None

        def named(node: Expression) -> Expression:
            if not isinstance(node, UnresolvedAttribute):
                return node
            found = self.of_rows.resolve(node)
            return found if found.resolved else self.above.resolve(node)

        resolved = self.above.resolve(condition.transform_up(named))
        if not resolved.resolved or resolved.exists(_is_implicit_cast):
            return None
        resolved = self._keys_for_columns(resolved)
        allowed = {a.expr_id for a in (*self.keys, *self.above.scope.columns)}
        return resolved if resolved.references <= allowed else None

    def _keys_for_columns(self, expression: Expression) -> Expression:
        key = self.column_of.get(canonical(expression)) if expression.resolved else None
        return expression.map_children(self._keys_for_columns) if key is None else key

    def in_having(self, condition: Expression) -> Expression:
        def named(node: Expression, aggregated: bool) -> Expression:
            if isinstance(node, UnresolvedAttribute):
                found = self.of_rows.resolve(node) if aggregated else node
                return found if found.resolved else self.above.resolve(node)
            inside = aggregated or is_aggregate_function(node)
            return node.map_children(lambda child: named(child, inside))

        return self._with_functions(named(condition, False))

    def in_order(self, key: Expression) -> Expression:
        def named(node: Expression) -> Expression:
            if not isinstance(node, UnresolvedAttribute):
                return node
            for resolver in (self.above, self.of_keys):
                found = resolver.resolve(node)
                if found.resolved:
                    return found
            return node

        def aggregated(node: Expression) -> Expression:
            if is_aggregate_function(node):
                return self.of_rows.resolve(node)
            return node.map_children(aggregated)

        return self._with_functions(aggregated(key.transform_up(named)))

    def _with_functions(self, expression: Expression) -> Expression:
        if expression.exists(is_grouping_call) and not expression.exists(_is_name):
            if self.repeated:
                raise without_sets()
            (expression,) = with_grouping_functions(
                (expression,), self.keys, self.above, self.identity
            )
            return self.above.resolve(expression)
        if expression.exists(is_grouping_call):
            return expression
        return self.above.resolve(expression)


def _is_name(node: Expression) -> bool:
    return isinstance(node, UnresolvedAttribute)


def _columns(keys: Sequence[Expression]) -> list[AttributeReference]:
    return [key for key in keys if isinstance(key, AttributeReference)]


def is_aggregate_function(node: Expression) -> bool:
    """Whether this is a call, not resolved yet, of an aggregate function."""
    if not isinstance(node, UnresolvedFunction):
        return False
    spec = find(node.name.lower())
    return spec is not None and spec.kind == "aggregate" and not is_grouping_call(node)


def _waits(node: Expression) -> bool:
    """Whether Spark resolves the call only later, when its arguments are resolved."""
    if isinstance(node, SubqueryExpression) or is_grouping_call(node):
        return True
    if not isinstance(node, UnresolvedFunction) or not _is_function(node.name):
        return False
    return node.exists(_is_name)


def _is_function(name: str) -> bool:
    """Not an operator: those are resolved as soon as they are parsed."""
    spec = find(name.lower())
    return name.isidentifier() and not (spec is not None and spec.predicate)


def _is_implicit_cast(node: Expression) -> bool:
    return isinstance(node, Cast) and node.implicit
