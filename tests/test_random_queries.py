"""The generator of random queries, and a short run of it against a live Spark.

compare_random_queries.py runs it for longer, and shrinks what differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from random_queries.cases import FAMILIES, random_case, replayed
from random_queries.catalog import STREAMS, columns_of
from random_queries.choices import Choices, smaller
from random_queries.compare import Difference, compare, shrunk
from random_queries.live import LivePlanner

if TYPE_CHECKING:
    from typing import Any

    from pyspark.sql import SparkSession

SEED = 20_000
QUERIES = 30
# Each query that differs is a defect. By seed: those that are known to differ, and why.
KNOWN: Mapping[int, str] = {}


def test_random_queries_are_planned_as_spark_plans_them(spark: SparkSession) -> None:
    ask = LivePlanner(spark).derive
    compared = {seed: compare(random_case(seed), ask) for seed in range(SEED, SEED + QUERIES)}
    differences = {seed: found for seed, found in compared.items() if found is not None}
    shown = "\n\n".join(f"{seed}: {found.shown()}" for seed, found in differences.items())
    assert differences.keys() == KNOWN.keys(), shown


def test_a_seed_makes_the_same_query_again() -> None:
    first, again = random_case(7), random_case(7)
    assert first == again == replayed(first.made)


def test_every_family_is_made_in_both_spellings_and_can_be_read() -> None:
    made: Counter[tuple[str, bool]] = Counter()
    for seed in range(600):
        case = random_case(seed)
        code = case.description.get("python")
        made[case.family, code is not None] += 1
        if code is not None:
            compile(f"({code})", "<query>", "eval")
    assert {family for family, _ in made} == {name for _, name in FAMILIES}
    assert {"agg", "win", "ssjoin", "proj"} <= {family for family, python in made if python}


def test_every_stream_has_columns() -> None:
    for schema in STREAMS.values():
        assert columns_of(schema)


def test_without_choices_everything_is_plain() -> None:
    choices = Choices()
    assert (choices.pick("a", "b"), choices.chance(0.9), choices.below(5)) == ("a", False, 0)


def test_smaller_lists_are_shorter_or_lower() -> None:
    made = [3, 0, 2]
    tried = list(smaller(made))
    assert all(len(less) < 3 or sum(less) < sum(made) for less in tried)
    assert [0, 0, 2] in tried and [3, 0] in tried


def test_a_difference_is_shrunk_while_it_stays() -> None:
    def spark(description: Mapping[str, Any]) -> str:
        """Says that it cannot plan DISTINCT, whatever the rest."""
        text = description.get("sql") or ""
        from random_queries.ours import planned

        return (
            "condition: NO\nphase: planning\nmessage: no"
            if "DISTINCT" in text
            else planned(description)
        )

    seed = next(s for s in range(500) if _has_distinct(s))
    found = compare(random_case(seed), spark)
    assert isinstance(found, Difference)
    less = shrunk(found, spark)
    assert "DISTINCT" in less.case.description["sql"]
    assert len(less.case.description["sql"]) <= len(found.case.description["sql"])


def _has_distinct(seed: int) -> bool:
    text = random_case(seed).description.get("sql") or ""
    return text.startswith("SELECT DISTINCT") and len(text) > 100
