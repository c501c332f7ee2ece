"""What makes a physical plan executable: state info, distributions, codegen stages, validation."""

from __future__ import annotations

from collections.abc import Callable

from ...physical.explain.tree import tree_text
from ...physical.plan import SparkPlan
from ...planner.model.errors import InternalError
from ..common.trees import same_columns
from .codegen import collapse_codegen_stages, insert_transitions, mark_adaptive
from .execution import Execution
from .redundant import (
    combine_adjacent_aggregates,
    remove_redundant_projects,
    remove_redundant_sorts,
    remove_redundant_window_limits,
    sort_sorted_aggregates,
)
from .requirements import ensure_requirements, validate_requirements
from .state import fill_in_state
from .subqueries import plan_subqueries, reuse_exchanges, reuse_subqueries

Rule = Callable[[SparkPlan, Execution], SparkPlan]


def plan_all_subqueries(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Subqueries go through all these rules themselves."""
    return plan_subqueries(plan, execution, prepare)


RULES: tuple[Rule, ...] = (
    plan_all_subqueries,  # first: from here on they are expressions like any other
    fill_in_state,  # before exchanges: distributions depend on the store count
    remove_redundant_projects,  # before exchanges: they would hide what a parent needs
    ensure_requirements,
    sort_sorted_aggregates,  # as soon as orders are known
    combine_adjacent_aggregates,
    remove_redundant_sorts,  # only now is it known which orders are there anyway
    remove_redundant_window_limits,  # as soon as it is known what is shuffled
    mark_adaptive,  # before codegen: what Spark re-plans at run time shows no stages
    insert_transitions,  # before codegen, as they have code of their own
    collapse_codegen_stages,  # after all operators are in place
    reuse_exchanges,  # after codegen: the stages of the exchange that is not run keep their numbers
    reuse_subqueries,
    validate_requirements,  # last, changes nothing
)


def prepare(spark_plan: SparkPlan, execution: Execution) -> SparkPlan:
    """The executed plan: the rules in order.

    Raises:
        InternalError: a rule changed the plan's columns, or a requirement does not hold.
    """
    plan = spark_plan
    for rule in RULES:
        prepared = rule(plan, execution)
        check_same_output(rule.__name__, plan, prepared)
        plan = prepared
    return plan


def check_same_output(rule: str, before: SparkPlan, after: SparkPlan) -> None:
    """A rule must give the columns that it got.

    Raises:
        InternalError: it gave others; the message has both plans.
    """
    if after is before:
        return
    if not same_columns(before.output, after.output):
        raise InternalError(
            f"The rule {rule} changed the plan's columns.\n"
            f"Before:\n{tree_text(before)}\nAfter:\n{tree_text(after)}"
        )
