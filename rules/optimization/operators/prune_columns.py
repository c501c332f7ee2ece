"""Columns that nothing above needs are not produced."""

from __future__ import annotations

from ....planner.model.expressions.core import Alias, AttributeReference, Call, Expression
from ....planner.model.plans.logical import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Generate,
    Join,
    Project,
    Union,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.windows import Window
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import pruned, rewrite_down, rewrite_up
from ..support.same_columns import asks_same_columns
from .nested_fields import (
    alias_fields_below,
    alias_fields_below_generate,
    alias_fields_of_generator,
)

_PRUNED = frozenset((Project, Aggregate, Expand, Generate, Join))
_FILTERED = frozenset((Filter,))


def prune_columns(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Select lists lose what is not used above, other operators get a Project below.

    `Aggregate [sum(a)], relation(a, b)` -> `Aggregate [sum(a)], Project [a], relation(a, b)`.
    A Project keeps the order of its input's columns. A Project between a Project and a Filter that
    only drops columns is not worth its while and goes. Idempotent.
    """
    result = rewrite_up(
        rewrite_down(plan, _prune, _PRUNED), _without_project_below_filter, _FILTERED
    )
    # What was added above a filter's input may have gone again: that is no change.
    return plan if result == plan else result


def _prune(node: LogicalPlan) -> LogicalPlan:
    match node:
        case Project():
            return _prune_below_project(node, node.child)
        case Aggregate() | Expand():
            return _prune_child(node)
        case Generate():
            return alias_fields_of_generator(node) or node
        case Join(join_type="LeftSemi" | "LeftAnti" | "ExistenceJoin", right=right):
            kept = pruned(right, node.references)
            return node if kept is right else replace(node, right=kept)
    return node


def _prune_child(node: Aggregate | Expand) -> LogicalPlan:
    needed = frozenset().union(*(e.references for e in _own_expressions(node)))
    kept = pruned(node.child, needed)
    if kept is not node.child:
        return replace(node, child=kept)
    return alias_fields_below(node) or node


def _own_expressions(node: Aggregate | Expand) -> tuple[Expression, ...]:
    if isinstance(node, Expand):
        return tuple(e for projection in node.projections for e in projection)
    return node.expressions


def _prune_below_project(node: Project, child: LogicalPlan) -> LogicalPlan:
    needed = node.references
    match child:
        case Project() if not child.output_ids <= needed:
            kept = _needed_items(child.project_list, needed)
            return replace(node, child=replace(child, project_list=kept))
        case Aggregate() if not child.output_ids <= needed:
            kept = _needed_items(child.aggregates, needed)
            return replace(node, child=replace(child, aggregates=kept))
        case Window() if not child.output_ids <= needed:
            return _prune_below_window(node, child, needed)
        case Expand() if not child.output_ids <= needed:
            return replace(node, child=_pruned_expand(child, needed))
        case Generate():
            return _prune_below_generate(node, child)
        case Distinct():
            return node
        case Union():
            return _prune_union(node, child)
    if not child.children:
        return node
    nested = alias_fields_below(node)
    if nested is not None:
        return nested
    if isinstance(child, Project | Aggregate | Expand):
        return node
    return _prune_through(node, child, needed)


def _prune_below_window(node: Project, window: Window, needed: frozenset[int]) -> LogicalPlan:
    kept = _needed_items(window.windows, needed)
    if not kept:
        return replace(node, child=window.child)
    if len(kept) < len(window.windows):
        return replace(node, child=replace(window, windows=kept))
    return _prune_through(node, window, needed)


def _prune_through(node: Project, child: LogicalPlan, needed: frozenset[int]) -> LogicalPlan:
    """Operators whose columns are those of their inputs: prune below them."""
    if isinstance(child, Filter) and not child.child.children:
        return node  # there is nothing to prune below what would go again
    required = child.references | needed
    if all(grandchild.output_ids <= required for grandchild in child.children):
        return node
    below = child.map_children(lambda grandchild: pruned(grandchild, required))
    return replace(node, child=below)


def _needed_items(items: tuple[Expression, ...], needed: frozenset[int]) -> tuple[Expression, ...]:
    return tuple(
        e for e in items if isinstance(e, Alias | AttributeReference) and e.expr_id in needed
    )


def _pruned_expand(expand: Expand, needed: frozenset[int]) -> Expand:
    places = [i for i, a in enumerate(expand.attributes) if a.expr_id in needed]
    return replace(
        expand,
        projections=tuple(tuple(row[i] for i in places) for row in expand.projections),
        attributes=tuple(expand.attributes[i] for i in places),
    )


def _prune_below_generate(node: Project, generate: Generate) -> LogicalPlan:
    generated = frozenset().union(*(e.references for e in generate.generated))
    if (
        isinstance(generate.generator, Call) and generate.generator.name == "json_tuple"
    ) and generated.isdisjoint(node.references):
        return replace(node, child=generate.child)
    used_by_generator = generate.generator.references
    needed = node.references
    if needed != generate.output_ids:
        below = pruned(generate.child, (needed - generated) | used_by_generator)
        kept = tuple(
            a for a in below.output if a.expr_id in needed or a.expr_id not in used_by_generator
        )
        if below is not generate.child or _required_ids(generate) != [a.expr_id for a in kept]:
            return replace(node, child=replace(generate, child=below, required=kept))
        return node  # as in Spark fields get no columns where some column is not used at all
    return alias_fields_below_generate(node, generate) or node


def _required_ids(generate: Generate) -> list[int]:
    kept = generate.child.output if generate.required is None else generate.required
    return [a.expr_id for a in kept]


def _prune_union(node: Project, union: Union) -> LogicalPlan:
    if union.output_ids <= node.references:
        return node
    places = [i for i, a in enumerate(union.output) if a.expr_id in node.references]
    inputs = tuple(
        Project(child=plan, project_list=tuple(plan.output[i] for i in places))
        for plan in union.inputs
    )
    return replace(node, child=replace(union, inputs=inputs))


def _without_project_below_filter(node: LogicalPlan) -> LogicalPlan:
    match node:
        case Project(child=Filter(child=Project() as low) as middle) if all(
            isinstance(e, AttributeReference) for e in low.project_list
        ):
            # A subquery's columns must not meet the same ones, which the Project leaves out.
            given = low.child.output_ids
            if low.output_ids <= given and not asks_same_columns(middle.condition, given):
                return replace(node, child=replace(middle, child=low.child))
    return node
