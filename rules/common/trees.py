"""Walking logical plans for rules: which nodes a tree holds, and rewriting with pruning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import update_wrapper, wraps
from typing import Any, Generic, Protocol, TypeVar, overload

from ...planner.model.expressions.core import Alias, AttributeReference, Call, Expression
from ...planner.model.expressions.predicates import conjunction
from ...planner.model.expressions.subqueries import SubqueryExpression
from ...planner.model.memo import is_marked, mark
from ...planner.model.plans.logical import Aggregate, Deduplicate, Distinct, Filter, Join, Project
from ...planner.model.plans.python_operators import (
    FlatMapGroupsInPandasWithState,
    TransformWithStateInPySpark,
)
from ...planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ...planner.model.settings.conf import Conf
from ...planner.model.tree import TreeNode, replace

N = TypeVar("N", bound=LogicalPlan)
T = TypeVar("T", bound=TreeNode)
E = TypeVar("E", bound=Expression)
Kinds = frozenset[type]


class Rewrite(Protocol):
    """A plain function from a node to what takes its place."""

    __module__: str
    __qualname__: str

    def __call__(self, node: LogicalPlan, /) -> LogicalPlan: ...


def rewrite_down(plan: LogicalPlan, function: Rewrite, kinds: Kinds) -> LogicalPlan:
    """`function` on the node, then the same on the children of what it gave.

    Subtrees that hold none of the kinds are left alone, and so are those that an earlier walk with
    the same function left as they were: what it does may depend on the subtree only.
    """
    if kinds.isdisjoint(plan.classes) or is_marked(_name(function), plan):
        return plan
    result = function(plan).map_children(lambda child: rewrite_down(child, function, kinds))
    if result is plan:
        mark(_name(function), plan)
    return result


def rewrite_up(plan: LogicalPlan, function: Rewrite, kinds: Kinds) -> LogicalPlan:
    """The children first, then `function` on the node over them.

    Subtrees are left alone as by `rewrite_down`.
    """
    if kinds.isdisjoint(plan.classes) or is_marked(_name(function), plan):
        return plan
    result = function(plan.map_children(lambda child: rewrite_up(child, function, kinds)))
    if result is plan:
        mark(_name(function), plan)
    return result


def over_children(
    plan: LogicalPlan, rewrite: Callable[[LogicalPlan], tuple[LogicalPlan, dict[int, E]]]
) -> tuple[LogicalPlan, dict[int, E]]:
    """The plan over its rewritten children, and what these found of columns, by their ids."""
    found: dict[int, E] = {}

    def below(child: LogicalPlan) -> LogicalPlan:
        new, more = rewrite(child)
        found.update(more)
        return new

    return plan.map_children(below), found


class NodeRule(Generic[N]):
    """A rule of optimization that says what becomes of one node: `top_down` and `bottom_up`.

    Attributes:
        kinds: the rule is about plans that hold one of these.
    """

    __name__: str

    def __init__(
        self,
        function: Callable[[N, Conf], LogicalPlan],
        walk: Callable[[LogicalPlan, Rewrite, Kinds], LogicalPlan],
        nodes: tuple[type[N], ...],
        holding: tuple[type, ...],
    ) -> None:
        update_wrapper(self, function)
        self._function, self._walk, self._nodes = function, walk, nodes
        self.kinds = frozenset(holding or nodes)

    def __call__(self, plan: LogicalPlan, conf: Conf) -> LogicalPlan:
        @wraps(self._function)
        def visit(node: LogicalPlan, /) -> LogicalPlan:
            return self._function(node, conf) if isinstance(node, self._nodes) else node

        return self._walk(plan, visit, self.kinds)


OfNode = Callable[[Callable[[N, Conf], LogicalPlan]], NodeRule[N]]


@overload
def top_down(node: type[N], /, *, holding: tuple[type, ...] = ()) -> OfNode[N]: ...
@overload
def top_down(*nodes: type[LogicalPlan], holding: tuple[type, ...] = ()) -> OfNode[Any]: ...
def top_down(*nodes: type[Any], holding: tuple[type, ...] = ()) -> OfNode[Any]:
    """Makes a rule of a function of one node of these classes and the settings.

    It is called for each such node from the root down, in subtrees that hold one of `holding`, by
    default one of the nodes. What it does may depend on the node's subtree only.
    """
    return lambda function: NodeRule(function, rewrite_down, nodes, holding)


@overload
def bottom_up(node: type[N], /, *, holding: tuple[type, ...] = ()) -> OfNode[N]: ...
@overload
def bottom_up(*nodes: type[LogicalPlan], holding: tuple[type, ...] = ()) -> OfNode[Any]: ...
def bottom_up(*nodes: type[Any], holding: tuple[type, ...] = ()) -> OfNode[Any]:
    """The same, the nodes below first."""
    return lambda function: NodeRule(function, rewrite_up, nodes, holding)


def _name(function: Rewrite) -> tuple[str, str]:
    """What it is remembered by: not by itself, as rules make theirs anew each time they run."""
    return function.__module__, function.__qualname__


def walk_up(tree: T) -> Iterator[T]:
    """The nodes of a tree, children before parents, left to right."""
    for child in tree.children:
        yield from walk_up(child)
    yield tree


def alias_map(expressions: Iterable[Expression]) -> dict[int, Expression]:
    """What each aliased column of a select list stands for."""
    return {e.expr_id: e.child for e in expressions if isinstance(e, Alias)}


def replace_attributes(expression: Expression, replacement: Mapping[int, Expression]) -> Expression:
    """The expression with columns replaced by id; itself if it has none of them."""
    if replacement.keys().isdisjoint(expression.references):
        return expression

    def visit(node: Expression) -> Expression:
        if isinstance(node, AttributeReference):
            return replacement.get(node.expr_id, node)
        if replacement.keys().isdisjoint(node.references):
            return node
        return node.map_children(visit)

    return visit(expression)


def map_subqueries(node: N, function: Callable[[SubqueryExpression], Expression]) -> N:
    """The node with the function applied to each subquery in its own expressions, inside out."""

    def visit(expression: Expression) -> Expression:
        return function(expression) if isinstance(expression, SubqueryExpression) else expression

    return node.map_expressions(
        lambda e: e.transform_up(visit) if e.holds(SubqueryExpression) else e
    )


def filtered(plan: LogicalPlan, conjuncts: Sequence[Expression]) -> LogicalPlan:
    """A Filter by the conjuncts over the plan; the plan itself if there are none."""
    return Filter(child=plan, condition=conjunction(conjuncts)) if conjuncts else plan


def filtered_below(
    plan: UnaryNode, down: Sequence[Expression], up: Sequence[Expression] = ()
) -> LogicalPlan:
    """The operator with a Filter by some conjuncts below it and by the others above it."""
    return filtered(replace(plan, child=filtered(plan.child, down)), up)


def with_sides(join: Join, left: LogicalPlan, right: LogicalPlan) -> Join:
    """The join of these sides; itself if they are its own."""
    if left is join.left and right is join.right:
        return join
    return replace(join, left=left, right=right)


def equated(part: Expression, join: Join) -> tuple[Expression, Expression] | None:
    """The sides of `l = r` or `l <=> r`, that over the left input first; None of anything else.

    As in Spark a constant goes with either input for `<=>`, and with none for `=`.
    """
    if not isinstance(part, Call) or part.name not in ("=", "<=>"):
        return None
    one, other = part.arguments
    if part.name == "=" and not (one.references and other.references):
        return None
    left, right = join.left.output_ids, join.right.output_ids
    if one.references <= left and other.references <= right:
        return one, other
    return (other, one) if one.references <= right and other.references <= left else None


def pruned(plan: LogicalPlan, needed: frozenset[int]) -> LogicalPlan:
    """The plan with a Project over it that keeps the needed columns, if it has any others."""
    if plan.output_ids <= needed:
        return plan
    return Project(child=plan, project_list=tuple(a for a in plan.output if a.expr_id in needed))


def with_output(plan: LogicalPlan, columns: tuple[AttributeReference, ...]) -> LogicalPlan:
    """The plan with a Project over it that gives the columns, if it gives any others."""
    if same_columns(plan.output, columns):
        return plan
    return Project(project_list=columns, child=plan)


def each_once(columns: Iterable[AttributeReference]) -> list[AttributeReference]:
    """The columns without repetition."""
    return list({a.expr_id: a for a in columns}.values())


def same_columns(left: Sequence[AttributeReference], right: Sequence[AttributeReference]) -> bool:
    """Whether the columns are the same, by id, in the same order."""
    return [column.expr_id for column in left] == [column.expr_id for column in right]


def by_place(old: LogicalPlan, new: LogicalPlan) -> dict[int, Expression]:
    """By the id of each column of a plan, the column of the other in its place."""
    return {a.expr_id: b for a, b in zip(old.output, new.output, strict=True)}


def keeps_state(plan: LogicalPlan) -> bool:
    """Whether a stream has state for the operator."""
    match plan:
        case Join(left=left, right=right):
            return left.is_streaming and right.is_streaming
        case Aggregate() | Distinct() | Deduplicate():
            return plan.is_streaming
        case FlatMapGroupsInPandasWithState() | TransformWithStateInPySpark():
            return plan.is_streaming
        case _:
            return False
