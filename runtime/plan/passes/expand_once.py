"""Computes once what the projections of an Expand share, and in them what stands above it.

    Select [w.start AS s, a]                               Expand [[x - 0, a], [x - 5, a]], [s, a]
    +- Expand [[f(t) - 0 AS w.start, ..], [f(t) - 5, ..]]  +- Select [f(t) AS x, a]

A time window that slides is written out in full in each projection, twice. Requires selects as they
are before they are merged, since a condition keeps a select where it is. Idempotent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Expression,
    LambdaFunction,
    Literal,
    to_attribute,
    without_alias,
)
from ....planner.model.tree import replace
from ..facts import BatchFacts
from ..guarded import guarded_arguments
from ..nodes import Expand, RuntimeNode, Select, used_by
from .merge_selects import combined


def expand_once(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose expands compute as little as need be."""
    return plan.transform_up(with_select).transform_up(_shared)


def with_select(node: RuntimeNode) -> RuntimeNode:
    """An Expand that computes the columns of the select above it; other nodes as they are."""
    if not (isinstance(node, Select) and isinstance(node.child, Expand)) or node.conditions:
        return node
    expand = node.child
    projections = []
    for projection in expand.projections:
        named = tuple(map(_named, projection, expand.attributes))
        one = combined(node, Select(child=expand.child, columns=named))
        if one is None:
            return node
        projections.append(tuple(map(without_alias, one.columns)))
    return Expand(child=expand.child, projections=tuple(projections), attributes=node.output)


def _shared(node: RuntimeNode) -> RuntimeNode:
    """An Expand over a select of what its projections share."""
    if not isinstance(node, Expand):
        return node
    every = [value for projection in node.projections for value in projection]
    counts = Counter(part for value in every for part in _always(value))
    found: dict[Expression, Alias] = {}

    def taken(part: Expression) -> Expression:
        if counts[part] > 1 and part.deterministic and part.references and not _plain(part):
            return to_attribute(found.setdefault(part, Alias(child=part, name="shared")))
        always = _computed(part)
        children = tuple(taken(c) if id(c) in always else c for c in part.children)
        return part.with_new_children(children)

    projections = tuple(tuple(map(taken, projection)) for projection in node.projections)
    if not found:
        return node
    passed = used_by(chain.from_iterable(projections), node.child.output)
    below = Select(child=node.child, columns=(*passed, *found.values()))
    return replace(node, child=below, projections=projections)


def _always(value: Expression) -> Iterator[Expression]:
    """The parts of a value that are computed for each row."""
    yield value
    computed = _computed(value)
    for child in value.children:
        if id(child) in computed:
            yield from _always(child)


def _computed(part: Expression) -> set[int]:
    """The children of a part, by identity, that are computed wherever it is."""
    if isinstance(part, LambdaFunction):
        return set()
    return set(map(id, part.children)) - set(map(id, guarded_arguments(part)))


def _plain(part: Expression) -> bool:
    return isinstance(part, AttributeReference | Literal)


def _named(value: Expression, column: AttributeReference) -> Expression:
    if isinstance(value, AttributeReference) and value.expr_id == column.expr_id:
        return value
    return Alias(child=value, name=column.name, expr_id=column.expr_id)
