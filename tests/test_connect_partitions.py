"""Where rows lie, as PySpark code says it: repartition, coalesce, hints; and what is observed."""

from __future__ import annotations

import pytest

import stateplan
from stateplan.planner.description import parse_description
from stateplan.planner.query import Query

EVENTS = "user STRING, ts TIMESTAMP, qty INT"


def plan(code: str, output_mode: str = "append") -> list[str]:
    """The plan's lines without their heading and its first line's mark."""
    sources = {"events": {"schema": EVENTS}}
    content = {"sources": sources, "python": code, "output_mode": output_mode}
    return Query.of(parse_description(content)).explain().splitlines()[1:]


@pytest.mark.parametrize(
    ("code", "exchange"),
    [
        ("events.repartition(3)", "RoundRobinPartitioning(3), REPARTITION_BY_NUM"),
        ("events.repartition(1)", "SinglePartition, REPARTITION_BY_NUM"),
        ("events.repartition('user')", "hashpartitioning(user#0, 200), REPARTITION_BY_COL"),
        ("events.repartition(7, 'user')", "hashpartitioning(user#0, 7), REPARTITION_BY_NUM"),
        ("events.repartition(F.lit(1))", "SinglePartition, REPARTITION_BY_NUM"),
        ("events.repartitionByRange('qty')", "rangepartitioning(qty#2 ASC NULLS FIRST, 200)"),
        ("events.repartition(3).coalesce(5)", "RoundRobinPartitioning(3)"),
        ("events.coalesce(3).repartition(5)", "RoundRobinPartitioning(5)"),
        ("events.repartition('user').repartition('qty')", "hashpartitioning(qty#2, 200)"),
        ("events.hint('repartition', 4, 'user')", "hashpartitioning(user#0, 4)"),
        ("events.hint('rebalance')", "RoundRobinPartitioning(200), REBALANCE_PARTITIONS_BY_NONE"),
    ],
)
def test_one_exchange_that_adapts(code: str, exchange: str) -> None:
    top, *below = plan(code)
    assert top.startswith("AdaptiveSparkPlan")
    assert sum("Exchange" in line for line in below) == 1
    assert below[0].startswith(f"+- Exchange {exchange}")


def test_coalesce_needs_no_exchange() -> None:
    assert plan("events.coalesce(1)")[0] == "Coalesce 1"


def test_an_exchange_by_the_keys_serves_the_state() -> None:
    lines = plan("events.repartition('user').groupBy('user').count()", "update")
    (exchange,) = [line.strip(" +-") for line in lines if "Exchange" in line]
    assert exchange.startswith("Exchange hashpartitioning(user#0, 200), REPARTITION_BY_COL")


def test_rows_that_lie_so_are_not_moved() -> None:
    lines = plan("events.dropDuplicates(['user']).repartition('user')")
    assert lines[0].startswith("StreamingDeduplicate")


def test_filters_go_below_an_exchange() -> None:
    lines = plan("events.repartition(3).filter('qty > 1')")
    assert [line.split()[1] for line in lines[1:3]] == ["Exchange", "Filter"]


def test_observed_metrics_stand_where_they_are_taken() -> None:
    lines = plan("events.observe('o', F.max('qty').alias('m')).filter('qty > 1')")
    assert lines[1].strip().startswith("+- CollectMetrics o, [max(qty#2) AS m#")


def test_fields_are_put_in_and_left_out() -> None:
    code = "events.select(F.struct('user', 'qty').withField('n', F.lit(1)).dropFields('qty'))"
    assert "named_struct(user, user#0, n, 1) AS update_fields(struct(user, qty), " in plan(code)[0]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("events.repartition(0)", "Number of partitions (0) must be positive"),
        ("events.sample(0.5)", "Sampling is not supported on streaming"),
        ("events.observe('o', F.col('qty'))", 'Attribute "qty" can only be used as an argument'),
        ("events.groupBy('user').max('ts')", '"ts" is not a numeric column'),
        ("events.select(F.col('user').withField('a', F.lit(1)))", 'requires the "STRUCT" type'),
        ("events.select(F.struct('user').dropFields('user'))", "Cannot drop all fields"),
    ],
)
def test_refusals(code: str, words: str) -> None:
    with pytest.raises(stateplan.StateplanError) as caught:
        plan(code)
    assert words in caught.value.message and caught.value.hint
