"""Plans drawn as graphs."""

from __future__ import annotations

from dataclasses import replace

from stateplan.physical.explain.tree import dot_text, mermaid_text, plan_graph
from stateplan.planner.model.plans.logical import Union


def test_mermaid(make) -> None:
    assert (
        mermaid_text(make.prepared(make.dedup(make.user)))
        == """\
flowchart BT
    n0(["StreamingDeduplicate<br>user, ts, amount, ... 1 more fields<br>state 0, 5 stores"])
    n1["Exchange<br>user, ts, amount, ... 1 more fields"]
    n2["StreamingRelation<br>user, ts, amount, ... 1 more fields"]
    n1 --> n0
    n2 --> n1"""
    )


def test_dot_quotes_names(make) -> None:
    strange = replace(make.user, name='a"b')
    source = replace(make.events, attributes=(strange,))
    assert (
        dot_text(make.prepared(source))
        == """\
digraph plan {
    rankdir=BT
    node [shape=box]
    n0 [label="StreamingRelation\\na\\"b"]
}"""
    )


def test_a_reused_exchange_feeds_two_operators(make) -> None:
    plan = make.prepared(Union(inputs=(make.dedup(make.user), make.dedup(make.user))))
    graph = plan_graph(plan)
    names = [node.node_name for node in graph.nodes]
    exchange = names.index("Exchange")
    fed = [names[parent] for child, parent in graph.edges if child == exchange]
    assert fed == ["StreamingDeduplicate", "StreamingDeduplicate"]
    assert "ReusedExchange" not in names
