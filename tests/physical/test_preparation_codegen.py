"""Stage marks and what decides them."""

from __future__ import annotations

from dataclasses import replace

from stateplan.physical.aggregate import HashAggregateExec
from stateplan.physical.basic import AdaptiveSparkPlanExec, LocalTableScanExec, ProjectExec
from stateplan.physical.exchange import ShuffleExchangeExec, SortExec
from stateplan.physical.scans import FileSourceScanExec
from stateplan.planner.model.expressions.core import Alias, SortOrder
from stateplan.planner.model.plans.logical import Union
from stateplan.planner.model.plans.relations import LocalRelation
from stateplan.rules.preparation.codegen import collapse_codegen_stages, mark_adaptive
from stateplan.rules.preparation.redundant import remove_redundant_projects, remove_redundant_sorts


def stages(plan) -> list[int | None]:
    return [node.codegen_stage for node in plan.walk()]


def test_stages_are_numbered_bottom_up(make) -> None:
    plan = make.prepared(make.counted(make.user, child=make.project(make.user)))
    assert stages(plan) == [4, None, 3, None, 2, None, 1, 1, None]


def test_left_before_right(make) -> None:
    inputs = (
        make.project(make.user),
        make.project(make.user, child=make.watermark(make.project(make.user, make.ts))),
    )
    plan = make.prepared(Union(inputs=inputs))
    assert stages(plan) == [2, 2, None, 2, None, 1, None]


def test_no_stages_without_whole_stage(make) -> None:
    execution = make.execution(codegen__wholeStage="false")
    plan = make.prepared(make.counted(make.user), execution)
    assert set(stages(plan)) == {None}


def test_too_many_columns_break_a_stage(make) -> None:
    execution = make.execution(codegen__maxFields="3")
    plan = make.prepared(make.project(make.user), execution)
    assert stages(plan) == [None, None]  # the stream below has four columns


def test_a_local_table_starts_no_stage_but_joins_one(make) -> None:
    table = LocalRelation(attributes=(make.user,))
    assert stages(make.prepared(table)) == [None]
    renamed = make.project(Alias(child=make.user, name="u"), child=table)
    assert stages(make.prepared(renamed)) == [1, 1]
    assert make.prepared(renamed).collect(LocalTableScanExec)


def test_a_stateless_plan_with_a_shuffle_is_adaptive_and_unmarked(make) -> None:
    execution = make.execution()
    scan = make.planned(make.project(make.user))
    shuffled = SortExec(order=(SortOrder(child=make.user),), is_global=True, child=scan)
    marked = mark_adaptive(shuffled, execution)
    assert isinstance(marked, AdaptiveSparkPlanExec)
    assert set(stages(collapse_codegen_stages(marked, execution))) == {None}
    assert mark_adaptive(marked, execution) is marked


def test_a_stateful_plan_is_never_adaptive(make) -> None:
    plan = make.prepared(make.dedup(make.user))
    assert plan.collect(ShuffleExchangeExec)
    assert not plan.collect(AdaptiveSparkPlanExec)


def test_a_reordering_project_of_a_table_goes_where_order_does_not_matter(make) -> None:
    execution = make.execution()
    reordered = make.project(make.qty, make.user, make.ts, make.amount)
    kept = make.planned(reordered)
    assert remove_redundant_projects(kept, execution) is kept
    streaming = make.planned(make.counted(make.user, child=reordered))
    assert remove_redundant_projects(streaming, execution).collect(ProjectExec)
    partial = streaming.collect(HashAggregateExec)[-1]
    assert partial.aggregates[0].mode == "Partial"
    batch = replace(partial, is_streaming=False)
    assert remove_redundant_projects(batch, execution).collect(ProjectExec)
    (project,) = batch.collect(ProjectExec)
    scan = FileSourceScanExec(name="t", format="json", attributes=project.child.output)
    table = replace(batch, child=replace(project, child=scan))
    assert not remove_redundant_projects(table, execution).collect(ProjectExec)


def test_a_second_sort_in_the_same_order_goes(make) -> None:
    scan = make.planned(make.events)
    order = (SortOrder(child=make.user),)
    once = SortExec(order=order, is_global=False, child=scan)
    twice = SortExec(order=order, is_global=False, child=once)
    assert remove_redundant_sorts(twice, make.execution()) == once
