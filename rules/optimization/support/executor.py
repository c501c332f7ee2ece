"""Running rules in batches, with what must hold after each of them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache

from ....planner.model.errors import InternalError
from ....planner.model.frozen import dataclass
from ....planner.model.memo import is_marked, mark
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import same_type
from ....planner.model.scopes import scope
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import includes
from ...common.trees import Kinds
from . import settings

MAX_ITERATIONS = 100

RuleFunction = Callable[[LogicalPlan, Conf], LogicalPlan]


@dataclass(frozen=True)
class Rule:
    """A rewrite of whole plans.

    Attributes:
        apply: gives the plan itself, the very object, where it changes nothing.
        kinds: the rule is skipped for plans that hold none of these operators; empty: never.
        uses: the same for the classes of expressions that it is about.
    """

    apply: RuleFunction
    kinds: Kinds = frozenset()
    uses: tuple[type, ...] = ()

    @property
    def name(self) -> str:
        return self.apply.__name__


@dataclass(frozen=True, eq=False)
class Batch:
    """Rules that run in order, once or until nothing changes any more.

    Attributes:
        after: the batch is skipped unless one of these has changed the plan; empty: never.
        or_uses: nor is it skipped for plans that hold one of these classes of expressions.
        whole: the batch is about whole queries, not about the plans of subqueries.
    """

    name: str
    rules: tuple[Rule, ...]
    once: bool = False
    after: tuple[Batch, ...] = ()
    or_uses: tuple[type, ...] = ()
    whole: bool = False


def rule(apply: RuleFunction, *kinds: type, uses: tuple[type, ...] = ()) -> Rule:
    """A rule that needs one of these operators in the plan, and one of these expressions.

    Without operators they are those that the rule names itself, if it does.
    """
    own: Kinds = getattr(apply, "kinds", frozenset())
    return Rule(apply, frozenset(kinds) or own, uses)


_running: ContextVar[tuple[Batch, ...]] = ContextVar("batches that run")
_nested: ContextVar[bool] = ContextVar("the plan is a subquery's", default=False)


def run(batches: tuple[Batch, ...], plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plan after the batches.

    Raises:
        InternalError: as `run_batch`.
    """
    with scope(_running, batches):
        return _run(batches, plan, conf)


def run_nested(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """For rules: the plan of a subquery after the batches that run, without those of whole queries.

    Its columns keep their ids: what stands around the subquery names them.

    Raises:
        InternalError: as `run_batch`.
    """
    with scope(_nested, True):
        return _run(_running.get(), plan, conf)


def is_nested() -> bool:
    """For rules: whether the plan is a subquery's."""
    return _nested.get()


def _run(batches: tuple[Batch, ...], plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    changed: set[Batch] = set()
    for batch in batches:
        if (batch.whole and is_nested()) or not (
            not batch.after
            or not changed.isdisjoint(batch.after)
            or any(map(plan.uses, batch.or_uses))
        ):
            continue
        before, plan = plan, run_batch(batch, plan, conf)
        if plan is not before:
            changed.add(batch)
    return plan


def run_batch(batch: Batch, plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plan after the batch.

    Raises:
        InternalError: a rule changed the columns, or the batch does not come to an end.
    """
    for _ in range(1 if batch.once else MAX_ITERATIONS):
        before = plan
        done = -1
        while (following := _next_change(batch, done, plan, conf)) is not None:
            done, plan = following
        if plan is before:
            return plan
    if batch.once:
        return plan
    raise InternalError(f'The rules of "{batch.name}" keep changing the plan:\n{plan!r}')


def _next_change(
    batch: Batch, done: int, plan: LogicalPlan, conf: Conf
) -> tuple[int, LogicalPlan] | None:
    """The first rule behind the one at `done` that changes the plan, and the plan it makes."""
    excluded = settings.current().excluded
    for position, current in _applicable(batch, plan.classes, plan.expression_classes):
        if position <= done or current.name in excluded or is_marked(current.apply, plan):
            continue
        after = current.apply(plan, conf)
        if after is not plan:
            _check_schema(current, plan, after)
            return position, after
        # In one run rules are functions of the plan: what one left as it was, it will again.
        mark(current.apply, plan)
    return None


@lru_cache(maxsize=4096)
def _applicable(batch: Batch, kinds: Kinds, uses: Kinds) -> tuple[tuple[int, Rule], ...]:
    """The rules that are about such operators and expressions, with their places in the batch."""
    return tuple(
        (position, current)
        for position, current in enumerate(batch.rules)
        if (not current.kinds or not current.kinds.isdisjoint(kinds))
        and (not current.uses or any(includes(uses, kind) for kind in current.uses))
    )


def _check_schema(current: Rule, before: LogicalPlan, after: LogicalPlan) -> None:
    old, new = before.output, after.output
    if len(old) == len(new) and all(
        a.name == b.name
        and (a.type_ == b.type_ or same_type(a.type_, b.type_))
        and (a.expr_id == b.expr_id or not is_nested())
        for a, b in zip(old, new, strict=True)
    ):
        return
    raise InternalError(
        f"The rule {current.name} changed the columns of the plan from\n{before!r}\nto\n{after!r}"
    )
