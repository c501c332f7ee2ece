"""All rewrites of single expressions, in one walk per expression.

Spark runs these as some twenty rules over the whole plan until nothing changes. None of them looks
beyond the expression it stands at, so here each expression is simplified once, bottom-up, until
nothing changes at it, and is then marked in the run's memo: asking again is free.
"""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    GetStructField,
)
from ....planner.model.functions.build import is_item_lookup
from ....planner.model.memo import is_marked, mark
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.registry import FunctionSpec
from ....planner.model.settings.conf import Conf
from ..support import settings
from .casts import (
    combine_concats,
    remove_positive,
    simplify_case_conversions,
    simplify_casts,
    unwrap_casts,
)
from .comparisons import optimize_in, simplify_comparisons, simplify_like
from .conditions import push_into_branches, simplify_booleans, simplify_conditionals
from .constants import eliminate_aggregate_filter, fold, gather_constants
from .nulls import propagate_nulls, push_null_checks_down
from .structs import simplify_extraction

Rewrite = Callable[[Expression], Expression]
Of = frozenset[str] | Callable[[FunctionSpec], bool] | None
"""Of which functions a rewrite is: by name, by what they are, of all."""

_LIKES = frozenset(("like", "likeall", "likeany", "notlikeall", "notlikeany"))


def _is_comparison(spec: FunctionSpec) -> bool:
    return spec.mirror is not None


def _compares(spec: FunctionSpec) -> bool:
    return _is_comparison(spec) or spec.name in ("in", "inset", "isnotnull")


def _is_of(of: Of, spec: FunctionSpec) -> bool:
    return of is None or (spec.name in of if isinstance(of, frozenset) else of(spec))


# Spark's order: nulls and constants first, as they make most of the other rewrites possible.
REWRITES: tuple[tuple[Rewrite, Of, tuple[type[Expression], ...]], ...] = (
    (propagate_nulls, None, (Cast, GetStructField, AggregateExpression)),
    (push_null_checks_down, frozenset(("isnull", "isnotnull")), ()),
    (optimize_in, frozenset(("in",)), ()),
    (fold, None, (Cast, GetStructField, CaseWhen)),
    (eliminate_aggregate_filter, frozenset(), (AggregateExpression,)),
    (gather_constants, frozenset(("+", "*")), ()),
    (simplify_like, _LIKES, ()),
    (simplify_booleans, frozenset(("and", "or", "not")), ()),
    (simplify_conditionals, frozenset(("if",)), (CaseWhen,)),
    (push_into_branches, lambda spec: spec.pushed_into_branches, (Cast, GetStructField)),
    (remove_positive, frozenset(("positive",)), ()),
    (simplify_comparisons, _is_comparison, ()),
    (simplify_casts, frozenset(), (Cast,)),
    (simplify_case_conversions, frozenset(("upper", "lower")), ()),
    (unwrap_casts, _compares, ()),
    (simplify_extraction, frozenset(("get_array_item", "get_map_value")), (GetStructField,)),
    (combine_concats, frozenset(("concat",)), ()),
)

_FOR_CALL: dict[str, tuple[Rewrite, ...]] = {}
_FOR_CLASS: dict[type[Expression], tuple[Rewrite, ...]] = {}


def _rewrites_for(expression: Expression) -> tuple[Rewrite, ...]:
    found = _all_rewrites_for(expression)
    excluded = settings.current().excluded
    return tuple(f for f in found if f.__name__ not in excluded) if excluded else found


def _all_rewrites_for(expression: Expression) -> tuple[Rewrite, ...]:
    if isinstance(expression, Call):
        found = _FOR_CALL.get(expression.name)
        if found is None:
            name = expression.name
            found = tuple(f for f, of, _ in REWRITES if _is_of(of, expression.spec))
            _FOR_CALL[name] = found
        return found
    kind = type(expression)
    found = _FOR_CLASS.get(kind)
    if found is None:
        found = tuple(f for f, _, kinds in REWRITES if kind in kinds)
        _FOR_CLASS[kind] = found
    return found


def _may_fail(expression: Expression) -> bool:
    return (
        isinstance(expression, Cast)
        or is_item_lookup(expression)
        or (isinstance(expression, Call) and expression.spec.ansi_error is not None)
    )


def _before_operands(expression: Expression) -> Rewrite | None:
    """The rewrite of an expression that comes before those of its operands, if there is one."""
    match expression:
        case Call(name="not"):
            return simplify_booleans  # before all that moves comparisons into branches
        case Call(name="isnull" | "isnotnull", arguments=(Call(name="not"),)):
            return push_null_checks_down  # before NOT would be on its way down
        case Call(name="+" | "*"):
            return gather_constants  # as a whole, before any constant goes into a CASE within it
        case _:
            return None


def simplify(expression: Expression) -> Expression:
    """The expression in its simplest form; itself if it is in that form already."""
    if isinstance(expression, AttributeReference) or is_marked(simplify, expression):
        return expression
    if expression.children and expression.foldable and "fold" not in settings.current().excluded:
        # Computed as a whole; one that fails stays as it was written.
        value = fold(expression)
        if value is not expression or _may_fail(expression):
            mark(simplify, value)
            return value
    early = _before_operands(expression)
    if early is not None and early in _rewrites_for(expression):
        changed = early(expression)
        if changed is not expression:
            return simplify(changed)
    current = expression.map_children(simplify)
    for rewrite in _rewrites_for(current):
        changed = rewrite(current)
        if changed is not current:
            return simplify(changed)
    mark(simplify, current)
    return current


def simplify_expressions(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Every expression of the plan becomes as simple as it can.

    `Filter (cast(a as bigint) > cast(5 as bigint))` -> `Filter (a > 5)`. Idempotent.
    """
    if is_marked(simplify, plan):
        return plan
    node = plan.map_children(lambda child: simplify_expressions(child, conf))
    node = node.map_expressions(simplify)
    mark(simplify, node)
    return node
