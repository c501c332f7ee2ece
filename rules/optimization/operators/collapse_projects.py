"""Adjacent projections as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ....planner.model.expressions.core import (
    NO_METADATA,
    Alias,
    AttributeReference,
    Call,
    Expression,
    GetStructField,
)
from ....planner.model.expressions.equality import same
from ....planner.model.functions.build import is_item_lookup
from ....planner.model.plans.logical import Aggregate, GlobalLimit, LocalLimit, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, replace_attributes
from ..expressions.replace_expressions import is_cheap
from ..expressions.simplify import simplify
from ..support.settings import current


@bottom_up(Project)
def collapse_projects(node: Project, conf: Conf) -> LogicalPlan:
    """A Project over a Project (or an Aggregate) becomes one operator.

    `Project [b + 1], Project [a * 2 AS b]` -> `Project [a * 2 + 1]`, unless an expression that
    costs something would then be computed more than once. Through limits, renamings only.
    """
    child = node.child
    match child:
        case Project():
            if can_collapse(node.project_list, child.project_list):
                merged = merged_list(node.project_list, child.project_list)
                return replace(child, project_list=merged)
        case Aggregate():
            if can_collapse(node.project_list, child.aggregates):
                merged = merged_list(node.project_list, child.aggregates)
                return replace(child, aggregates=merged)
        case GlobalLimit(child=LocalLimit(child=Project() as below) as limit):
            if _is_renaming(node.project_list, below.project_list):
                merged = merged_list(node.project_list, below.project_list)
                inner = replace(limit, child=replace(below, project_list=merged))
                return replace(child, child=inner)
        case LocalLimit(child=Project() as below):
            if _is_renaming(node.project_list, below.project_list):
                merged = merged_list(node.project_list, below.project_list)
                return replace(child, child=replace(below, project_list=merged))
    return node


def _is_renaming(upper: tuple[Expression, ...], lower: tuple[Expression, ...]) -> bool:
    def renames(a: Expression, b: Expression) -> bool:
        if same(a, b):
            return True
        return (
            isinstance(a, Alias)
            and isinstance(a.child, AttributeReference)
            and a.metadata == NO_METADATA
            and isinstance(b, Alias | AttributeReference)
            and a.child.name == b.name
        )

    return len(upper) == len(lower) and all(
        renames(a, b) for a, b in zip(upper, lower, strict=True)
    )


def _attributes(expression: Expression) -> Iterator[int]:
    if isinstance(expression, AttributeReference):
        yield expression.expr_id
    elif expression.references:
        for child in expression.children:
            yield from _attributes(child)


def can_collapse(consumers: Iterable[Expression], producers: Iterable[Expression]) -> bool:
    """Whether the producers' expressions may be put into the consumers.

    Each must be deterministic, and mentioned once or cheap. A struct, array or map that is made
    counts as cheap where all but one of its mentions take a cheap part out of it.
    """
    consumers = tuple(consumers)
    computed = {e.expr_id: e.child for e in producers if isinstance(e, Alias)}
    counts = Counter(i for consumer in consumers for i in _attributes(consumer))
    for expr_id, count in counts.items():
        producer = computed.get(expr_id)
        if producer is None:
            continue
        if not producer.deterministic:
            return False
        if count == 1 or current().always_inline:
            continue
        if not _is_cheap_to_inline(consumers, expr_id, producer):
            return False
    return True


def _is_cheap_to_inline(
    consumers: tuple[Expression, ...], expr_id: int, producer: Expression
) -> bool:
    if isinstance(producer, Call) and producer.spec.constructor:
        costly = sum(
            1
            for consumer in consumers
            if expr_id in consumer.references
            for _ in _costly_mentions(consumer, expr_id, producer)
        )
        return costly <= 1
    return is_cheap(producer)


def _is_extraction(expression: Expression) -> bool:
    return isinstance(expression, GetStructField) or is_item_lookup(expression)


def _taken_from(expression: Expression) -> Expression:
    while _is_extraction(expression) or isinstance(expression, Alias):
        expression = expression.children[0]
    return expression


def _costly_mentions(
    expression: Expression, expr_id: int, producer: Expression
) -> Iterator[Expression]:
    if isinstance(expression, AttributeReference):
        if expression.expr_id == expr_id:
            yield expression
        return
    if _is_extraction(expression):
        source = _taken_from(expression)
        if isinstance(source, AttributeReference) and source.expr_id == expr_id:
            if not is_cheap(simplify(replace_attributes(expression, {expr_id: producer}))):
                yield expression
            return
    for child in expression.children:
        if expr_id in child.references:
            yield from _costly_mentions(child, expr_id, producer)


def merged_list(upper: Iterable[Expression], lower: Iterable[Expression]) -> tuple[Expression, ...]:
    """The upper select list over the lower one's input; names and ids are the upper one's."""
    aliases = {e.expr_id: e for e in lower if isinstance(e, Alias)}
    values = {expr_id: alias.child for expr_id, alias in aliases.items()}
    return tuple(_merged(item, aliases, values) for item in upper)


def _merged(
    item: Expression, aliases: Mapping[int, Alias], values: Mapping[int, Expression]
) -> Expression:
    if isinstance(item, AttributeReference):
        alias = aliases.get(item.expr_id)
        if alias is None:
            return item
        return alias if alias.name == item.name else replace(alias, name=item.name)
    if values.keys().isdisjoint(item.references):
        return item
    if isinstance(item, Alias):
        # The event-time mark of the column that is replaced must not get lost.
        kept = None if item.metadata == NO_METADATA else item.metadata
        child = replace_attributes(item.child, values)
        return replace(item, child=child, explicit_metadata=kept)
    return replace_attributes(item, values)
