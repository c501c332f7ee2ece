"""The plan tree's text and the formatted plan."""

from __future__ import annotations

from stateplan.physical.explain.modes import formatted_text
from stateplan.physical.explain.tree import tree_text
from stateplan.planner.model.expressions.core import Alias
from stateplan.planner.model.plans.logical import Union
from stateplan.planner.model.schemas.types import (
    INT,
    STRING,
    ArrayType,
    MapType,
    StructField,
    StructType,
)
from stateplan.planner.model.text.fields_shown import cut
from stateplan.planner.model.text.operator_text import simple_type


def test_branches_of_a_union_are_drawn_apart(make) -> None:
    both = Union(inputs=(make.project(make.user), make.project(make.user)))
    assert (
        make.text(make.prepared(both))
        == """\
*(1) Union
:- *(1) Project [user#0]
:  +- StreamingRelation FileSource[events], [user#0, ts#1, amount#2, qty#3]
+- *(1) Project [user#0]
   +- StreamingRelation FileSource[events], [user#0, ts#1, amount#2, qty#3]"""
    )


def test_long_lists_are_cut(make) -> None:
    text = tree_text(make.planned(make.events), max_fields=2)
    user, ts = make.user.expr_id, make.ts.expr_id
    assert text.endswith(f"[user#{user}, ts#{ts}, ... 2 more fields]")


def test_cut_counts_the_rest() -> None:
    assert cut(["a", "b", "c"], 3) == "a, b, c"
    assert cut(["a", "b", "c"], 1) == "a, ... 2 more fields"
    assert cut(["a", "b", "c"], 0) == "... 3 more fields"


def test_types_are_cut_inside(make) -> None:
    struct = StructType((StructField("a", INT), StructField("b", MapType(STRING, INT))))
    assert simple_type(ArrayType(struct), 1) == "array<struct<a: int, ... 1 more fields>>"


def test_lists_that_are_empty_are_left_out(make) -> None:
    text = make.text(make.prepared(make.counted(child=make.project())))
    assert "\n            +- Exchange SinglePartition, ENSURE_REQUIREMENTS, [plan_id=0]" in text
    assert "StateStoreSave state 0, Append" in text
    assert text.splitlines()[-2].endswith("*(1) Project")


def test_formatted_numbers_operators_bottom_up(make) -> None:
    plan = make.prepared(make.limit(3, make.project(Alias(child=make.user, name="u"))))
    user, name = make.user.expr_id, plan.output[0].expr_id
    columns = ", ".join(f"{a.name}#{a.expr_id}" for a in make.events.output)
    head, _, blocks = formatted_text(plan, 25).partition("\n\n\n")
    assert (
        head
        == """\
StreamingGlobalLimit (5)
+- Exchange (4)
   +- * LocalLimit (3)
      +- * Project (2)
         +- StreamingRelation (1)"""
    )
    assert blocks.split("\n\n")[:3] == [
        f"(1) StreamingRelation\nOutput [4]: [{columns}]\n"
        f"Arguments: FileSource[events], [{columns}]",
        f"(2) Project [codegen id : 1]\nOutput [1]: [user#{user} AS u#{name}]\n"
        f"Input [4]: [{columns}]",
        f"(3) LocalLimit [codegen id : 1]\nInput [1]: [u#{name}]\nArguments: 3",
    ]


def test_formatted_aggregate_shows_its_parts(make) -> None:
    plan = make.prepared(make.counted(make.user), make.execution("update"))
    last = formatted_text(plan, 25).split("\n\n")[-1]
    assert [line.split("[")[0].strip() for line in last.splitlines()[1:]] == [
        "Input",
        "Keys",
        "Functions",
        "Aggregate Attributes",
        "Results",
    ]


def test_formatted_shows_a_stage_on_its_first_branch_only(make) -> None:
    marked = make.watermark(make.project(make.user, make.ts))
    both = Union(inputs=(make.project(make.user, child=marked), make.project(make.user)))
    blocks = formatted_text(make.prepared(both), 25).split("\n\n\n")[1].split("\n\n")
    heads = [block.splitlines()[0] for block in blocks]
    assert "(4) Project [codegen id : 2]" in heads
    assert "(6) Project" in heads
    assert heads[-1] == "(7) Union [codegen id : 2]"
