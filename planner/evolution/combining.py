"""Relations of operators that make other rows of their input's: joins, groups, limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...physical.aggregate import AggregationStep, MergingSessionsExec, result_column
from ...physical.basic import CollectLimitExec, LimitExec, LocalLimitExec
from ...physical.exchange import ShuffleExchangeExec, SortExec, TakeOrderedAndProjectExec
from ...physical.joins import BaseJoinExec
from ...physical.plan import SparkPlan
from ...physical.stateful import (
    BaseStreamingDeduplicateExec,
    StateStoreRestoreExec,
    StateStoreSaveExec,
    StreamingGlobalLimitExec,
    StreamingLocalLimitExec,
)
from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ..model.expressions.core import Expression, to_attribute
from .implied import is_null_check, needed, simplified
from .relations import Relation, handler, named, relation_of
from .spelling import Symbol, order_key
from .stored_meaning import state_symbol
from .symbols import aggregate, conjuncts, made_of, symbol


@handler.register
def _(plan: BaseJoinExec) -> Relation:
    """A join with a table. Which side is looked up makes no difference."""
    left, right = relation_of(plan.left), relation_of(plan.right)
    if plan.join_type in ("Inner", "LeftSemi", "LeftOuter"):
        right = _with_keys(right, getattr(plan, "right_keys", ()))
    if plan.join_type in ("Inner", "LeftSemi", "RightOuter"):
        left = _with_keys(left, getattr(plan, "left_keys", ()))
    kind_of_join, swapped = str(plan.join_type), False
    if kind_of_join == "RightOuter":
        kind_of_join, swapped = "LeftOuter", True
    elif kind_of_join in ("Inner", "Cross", "FullOuter"):
        swapped = order_key(right.rows) < order_key(left.rows)
    return _joined(plan, left, right, kind_of_join, swapped=swapped)


def _with_keys(side: Relation, keys: Iterable[Expression]) -> Relation:
    """A side's rows without checks for null: those with a null key find no match anyway."""
    present = frozenset(part for key in side.all_of(keys) for part in needed(key))
    checks = frozenset(f for f in side.filters if is_null_check(f) and f[4][0] in present)
    return replace(side, filters=side.filters - checks)


@handler.register
def _(plan: StreamingSymmetricHashJoinExec) -> Relation:
    left, right = relation_of(plan.left), relation_of(plan.right)
    return _joined(plan, left, right, str(plan.join_type), swapped=False)


def _joined(
    plan: SparkPlan, left: Relation, right: Relation, join_type: str, *, swapped: bool
) -> Relation:
    names = ("second", "first") if swapped else ("first", "second")
    columns: dict[int, Symbol] = {}
    for name, side in zip(names, (left, right), strict=True):
        columns |= {i: (name, inner) for i, inner in side.columns.items()}
    keys = zip(getattr(plan, "left_keys", ()), getattr(plan, "right_keys", ()), strict=True)
    equal = frozenset(frozenset((symbol(one, columns), symbol(two, columns))) for one, two in keys)
    condition = conjuncts(getattr(plan, "condition", None), columns)
    rows = (right.rows, left.rows) if swapped else (left.rows, right.rows)
    mark = getattr(plan, "mark", None)
    if mark is not None:
        columns[mark.expr_id] = ("matched",)
    base = ("join", join_type, mark is not None, rows, equal, condition)
    return Relation(base, columns=columns, watermarks=left.watermarks | right.watermarks)


@handler.register
def _(plan: AggregationStep) -> Relation:
    below = relation_of(plan.child)
    if isinstance(plan, MergingSessionsExec) or not _first_step(plan):
        if all(a.mode in ("Partial", "PartialMerge") for a in plan.aggregates) and plan.aggregates:
            return below
        return below.with_columns(named(plan.results, below))
    keys = {to_attribute(k).expr_id: simplified(below.of(k), below.filters) for k in plan.keys}
    columns = dict(keys)
    for function, buffers in zip(plan.aggregates, plan.buffers, strict=True):
        meaning = aggregate(function, below.columns, below.filters, grouped=bool(keys))
        columns[result_column(function).expr_id] = ("result", meaning)
        state = state_symbol(meaning)
        columns |= {b.expr_id: ("buffer", i, state) for i, b in enumerate(buffers)}
    base = ("groups", below.rows, frozenset(keys.values()))
    grouped = below.remade(base, columns)
    return grouped.with_columns(named(plan.results, grouped))


def _first_step(plan: AggregationStep) -> bool:
    """Whether it reads rows, not buffers: there is no earlier step of the same aggregation."""
    if any(a.mode in ("Partial", "Complete") for a in plan.aggregates):
        return True
    if plan.aggregates:
        return False
    keys = {to_attribute(k).expr_id for k in plan.keys}
    node: SparkPlan = plan.child
    passing = (ShuffleExchangeExec, SortExec, StateStoreRestoreExec, StateStoreSaveExec)
    while isinstance(node, passing):
        node = node.child
    if not isinstance(node, AggregationStep) or node.aggregates:
        return True
    return {to_attribute(k).expr_id for k in node.keys} != keys


@handler.register
def _(plan: BaseStreamingDeduplicateExec) -> Relation:
    """A filter on nothing but the keys leaves out whole groups of duplicates.

    So it makes no difference whether it is below or above.
    """
    below = relation_of(plan.child)
    keys = frozenset(below.all_of(plan.keys))
    of_keys = frozenset(f for f in below.filters if made_of(frozenset([f]), keys))
    base = (type(plan).__name__, (below.base, below.filters - of_keys), keys)
    return replace(below.remade(base), filters=of_keys)


@handler.register(LocalLimitExec)
@handler.register(StreamingLocalLimitExec)
def _(plan: LimitExec) -> Relation:
    """It only spares the global limit above it some rows."""
    return relation_of(plan.child)


@handler.register(StreamingGlobalLimitExec)
@handler.register(CollectLimitExec)
def _(plan: SparkPlan) -> Relation:
    below = relation_of(plan.children[0])
    return below.remade(("limit", plan.limit, below.rows))  # type: ignore[attr-defined]


@handler.register
def _(plan: TakeOrderedAndProjectExec) -> Relation:
    below = relation_of(plan.child)
    order = tuple((below.of(o.child), o.ascending, o.nulls_first) for o in plan.order)
    top = below.remade(("top", plan.limit, order, below.rows))
    return top.with_columns(named(plan.project_list, top))
