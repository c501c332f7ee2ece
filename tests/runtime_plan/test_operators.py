"""Every physical operator has a place in the runtime plan, or is refused by name; without Spark."""

from __future__ import annotations

import importlib
import pkgutil
from functools import singledispatch
from typing import Any

import pytest

import stateplan.physical
from runtime_plan.queries import executed
from stateplan.physical.aggregate import MergingSessionsExec
from stateplan.physical.basic import RDDScanExec
from stateplan.physical.exchange import ReusedExchangeExec
from stateplan.physical.plan import SparkPlan, StatefulOperator, StateStoreWriter, UnaryExec
from stateplan.physical.python_operators import PlanLaterExec
from stateplan.physical.stateful import (
    SessionWindowStateStoreRestoreExec,
    StateStoreRestoreExec,
    StateStoreSaveExec,
)
from stateplan.physical.subqueries import ReusedSubqueryExec, SubqueryExec
from stateplan.planner.model.errors import RuntimeFailure
from stateplan.runtime.engines import batch as batch  # registers what runs as it is
from stateplan.runtime.engines.as_is import run_as_is
from stateplan.runtime.engines.kernels import buffers_of
from stateplan.runtime.engines.render import render
from stateplan.runtime.plan import nodes, specs
from stateplan.runtime.plan.aggregation import partial_of
from stateplan.runtime.plan.printing import arguments
from stateplan.runtime.plan.reading_nodes import TaskRows
from stateplan.runtime.plan.specs import functions_of
from stateplan.runtime.plan.translate import translate

PARTS_OF_OTHERS = (
    # Steps of an aggregation: its save stands for all of them.
    *(StateStoreRestoreExec, SessionWindowStateStoreRestoreExec, MergingSessionsExec),
    # They stand in expressions, or are replaced before: what they give is planned by itself.
    *(SubqueryExec, ReusedSubqueryExec, ReusedExchangeExec, PlanLaterExec),
)


def subclasses(kind: type) -> set[type]:
    direct = set(kind.__subclasses__())
    return direct.union(*map(subclasses, direct))


def leaves(kind: type) -> list[Any]:
    """The classes that stand for themselves: what has subclasses stands for these alone."""
    found = {each for each in subclasses(kind) if each.__module__.startswith("stateplan.")}
    return sorted(
        (each for each in found if not subclasses(each) & found), key=lambda c: c.__name__
    )


for module in pkgutil.walk_packages(stateplan.physical.__path__, "stateplan.physical."):
    importlib.import_module(module.name)

OPERATORS = [kind for kind in leaves(SparkPlan) if not issubclass(kind, PARTS_OF_OTHERS)]


def registered(function: Any, kind: type) -> bool:
    return bool(function.dispatch(kind) is not function.dispatch(object))


@pytest.mark.parametrize("kind", OPERATORS)
def test_every_operator_is_translated_or_runs_as_it_is(kind: type[SparkPlan]) -> None:
    assert registered(translate, kind) or registered(run_as_is, kind), f"{kind} cannot be run"


@pytest.mark.parametrize("kind", leaves(StateStoreWriter))
def test_every_stateful_operator_is_a_kernel(kind: type[SparkPlan]) -> None:
    assert registered(translate, kind)


@pytest.mark.parametrize("kind", leaves(nodes.RuntimeNode))
def test_every_node_is_rendered(kind: type) -> None:
    # A kernel takes with it what its tasks, or those below, compute themselves.
    assert registered(render, kind) or issubclass(kind, TaskRows)


@pytest.mark.parametrize("kind", leaves(nodes.RuntimeNode))
def test_every_node_has_arguments_in_texts(kind: type) -> None:
    assert registered(arguments, kind)


@pytest.mark.parametrize("kind", leaves(specs.KernelSpec))
def test_every_spec_has_a_kernel(kind: type) -> None:
    from stateplan.runtime.engines.kernels import _kernel

    assert registered(_kernel, kind)


def test_the_check_sees_what_is_missing() -> None:
    @singledispatch
    def knows_little(node: object) -> None: ...

    knows_little.register(StatefulOperator, lambda node: None)
    assert registered(knows_little, StateStoreSaveExec)
    assert not registered(knows_little, RDDScanExec)


def test_an_operator_that_cannot_run_is_named() -> None:
    class Unheard(UnaryExec):
        pass

    with pytest.raises(RuntimeFailure, match="operator Unheard can be planned, but not run"):
        run_as_is(Unheard(child=RDDScanExec()), [], None)  # type: ignore[arg-type]


def partial(aggregates: str) -> Any:
    sql = f"SELECT user, {aggregates} FROM STREAM events GROUP BY user"
    (save,) = executed(sql, "update").collect(StateStoreSaveExec)
    return partial_of(save)


def test_an_aggregate_that_cannot_be_merged_is_named() -> None:
    with pytest.raises(
        RuntimeFailure, match="`kll_sketch_agg_bigint` can be planned, but not run"
    ) as caught:
        functions_of(partial("count(*), kll_sketch_agg_bigint(qty)"))
    assert caught.value.condition == "STATEPLAN_UNMERGEABLE_AGGREGATE"
    assert caught.value.hint


def test_merges_go_by_the_places_of_their_buffers() -> None:
    functions = functions_of(partial("sum(qty) AS s, avg(price) AS a, approx_count_distinct(user)"))
    buffers = buffers_of(functions)
    assert [(m.operation, m.columns) for m in buffers.merges] == [
        ("sum", (0,)),
        ("sum", (1,)),
        ("sum_wrap", (2,)),
        ("registers", (3,)),
    ]
    assert [o.columns for o in buffers.outputs] == [(0,), (1,), (2,), (3,)]
    assert str(buffers.output.field(3).type) == "int64"
