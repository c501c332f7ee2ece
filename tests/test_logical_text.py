"""Plans as text: prefixes, drawing, cut lists."""

from __future__ import annotations

from stateplan.planner.model.expressions.core import AttributeReference, lit
from stateplan.planner.model.expressions.unresolved import UnresolvedAttribute
from stateplan.planner.model.plans.logical import (
    Aggregate,
    Filter,
    GlobalLimit,
    Join,
    Project,
    Union,
)
from stateplan.planner.model.plans.relations import Relation, StreamingRelation, UnresolvedRelation
from stateplan.planner.model.schemas.types import BOOLEAN, LONG
from stateplan.planner.model.text.logical_text import tree_text

A = AttributeReference(name="a", type_=LONG, expr_id=1)
FLAG = AttributeReference(name="flag", type_=BOOLEAN, expr_id=2)
STREAM = StreamingRelation(name="s", format="FileSource[s]", attributes=(A, FLAG))
TABLE = Relation(name="t", format="json", attributes=(A, FLAG))


def test_prefixes_tell_unresolved_and_streaming() -> None:
    plan = Project(project_list=(UnresolvedAttribute(parts=("x", "y")),), child=STREAM)
    assert tree_text(plan) == (
        "'Project ['x.y]\n+- StreamingRelation FileSource[s], [a#1L, flag#2], name=<Unassigned>"
    )
    assert tree_text(Filter(condition=FLAG, child=STREAM)).startswith("~Filter flag#2: boolean\n")
    assert tree_text(GlobalLimit(limit=lit(3), child=TABLE)) == (
        "GlobalLimit 3\n+- Relation [a#1L,flag#2] json"
    )


def test_a_stream_as_written_is_two_lines() -> None:
    plan = UnresolvedRelation(parts=("events",), streaming=True)
    assert tree_text(plan) == (
        "'NamedStreamingRelation name=<Unassigned>\n+- 'UnresolvedRelation [events], [], true"
    )


def test_children_hang_on_their_branches() -> None:
    join = Join(left=STREAM, right=TABLE, join_type="LeftOuter", condition=FLAG)
    assert tree_text(Union(inputs=(join, join))).split("\n")[:4] == [
        "~Union false, false",
        ":- ~Join LeftOuter, flag#2: boolean",
        ":  :- StreamingRelation FileSource[s], [a#1L, flag#2], name=<Unassigned>",
        ":  +- Relation [a#1L,flag#2] json",
    ]


def test_empty_arguments_are_left_out() -> None:
    plan = Aggregate(grouping=(), aggregates=(A,), child=TABLE)
    assert tree_text(plan).startswith("Aggregate [a#1L]\n")


def test_long_lists_are_cut() -> None:
    plan = Project(project_list=(A,) * 30, child=TABLE)
    assert tree_text(plan).split("\n")[0].endswith("a#1L, ... 5 more fields]")
    assert tree_text(plan, 2).split("\n")[0] == "Project [a#1L, a#1L, ... 28 more fields]"
