"""Conditions over state: Spark SQL, analyzed by the planner, computed by our kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...planner.builder import stream
from ...planner.model.errors import AnalysisError, RuntimeFailure
from ...planner.model.expressions.core import AttributeReference, Call, Cast, Expression, Literal
from ...planner.model.expressions.evaluation import evaluate
from ...planner.model.expressions.predicates import disjunction
from ...planner.model.functions.build import call
from ...planner.model.plans.logical import Filter
from ...planner.model.schemas.types import INT, TIMESTAMP, DataType
from ...planner.model.text.spark_sql import quote, type_sql
from ...planner.model.tree import replace
from ..kernels.errors import KernelError
from ..kernels.expressions.evaluator import Evaluator
from ..kernels.expressions.programs.compile import compile_program, unsupported
from ..plan.carried import carrier
from ..state.scan import EVENT_TIME, PARTITION
from .columns import StateColumn


@dataclass(frozen=True)
class StateCondition:
    """A condition over the rows of a state.

    Attributes:
        names: the columns that it takes.
        evaluator: computes it over these.
    """

    names: Sequence[str]
    evaluator: Evaluator

    def passing(self, batch: Any) -> Any:
        """The rows of a record batch of the state's flat table for which it holds.

        Raises:
            RuntimeFailure: it cannot be computed of a value.
        """
        try:
            _, kept = self.evaluator.select(batch.select(self.names))
        except KernelError as error:
            raise RuntimeFailure(
                error.condition, error.message, hint="Write the condition without such values."
            ) from None
        return batch if kept is None else batch.filter(kept)


def state_condition(text: str, columns: Sequence[StateColumn]) -> StateCondition:
    """A condition over the columns of a state.

    Args:
        text: in Spark SQL, such as `user = 'ann' AND window.end < '2026-01-01'`.
        columns: the state's columns; event time and store number come with them.

    Raises:
        AnalysisError: it names no column of these, or something that is not computed here.
    """
    named: list[tuple[str, DataType]] = [(c.name, c.data_type) for c in columns]
    named += [(EVENT_TIME, TIMESTAMP), (PARTITION, INT)]
    schema = ", ".join(f"{quote(name)} {type_sql(kind)}" for name, kind in named)
    try:
        plan = stream("state", schema).where(text).query().execution.analyzed
    except AnalysisError as error:
        listed = ", ".join(f"{name} {kind.sql}" for name, kind in named)
        error.hint = f"The columns of the state are {listed}."
        raise error from None
    found = next(iter(plan.collect(Filter)))
    condition = found.condition.transform_up(_simple).transform_up(_carried)
    used = {node.expr_id for node in condition.walk() if isinstance(node, AttributeReference)}
    output = [replace(column, type_=carrier(column.type_)) for column in found.child.output]
    needed = [column for column in output if column.expr_id in used] or output[:1]
    program = compile_program([], needed, [condition])
    if program is None:
        raise AnalysisError(
            "STATEPLAN_UNSUPPORTED_CONDITION",
            f"A condition over state cannot use {unsupported(condition, needed)}.",
            hint="Use comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, arithmetic and casts; "
            "or filter the DataFrame of stateplan.read_state(spark, checkpoint).",
        )
    return StateCondition([column.name for column in needed], Evaluator(program))


def _simple(node: Expression) -> Expression:
    """Constants computed; IN as comparisons, so that what stands in it may fail."""
    match node:
        case Literal():
            return node
        case Call(name="in", arguments=(value, *options)):
            return disjunction([call("=", value, option) for option in options])
    return evaluate(node) or node


def _carried(node: Expression) -> Expression:
    """Intervals of months as numbers, as the table has them."""
    match node:
        case AttributeReference(type_=kind) | Cast(type_=kind) | Literal(type_=kind):
            return replace(node, type_=carrier(kind))
    return node
