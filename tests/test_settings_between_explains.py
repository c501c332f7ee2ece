"""A DataFrame that is explained, and again under other settings: as if it had not been before."""

from __future__ import annotations

import contextlib
import itertools
from random import Random

import pytest
from random_queries.cases import random_case

import stateplan
from stateplan import StateplanError
from stateplan.physical.explain import explain
from stateplan.physical.explain.normalise import normalise
from stateplan.planner.description import parse_description
from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.query import Query
from stateplan.rules.optimization.support.settings import RULES

EXCLUDED = "spark.sql.optimizer.excludedRules"
PACKAGE = "org.apache.spark.sql.catalyst.optimizer."
OTHERS = {
    "spark.sql.optimizer.inSetConversionThreshold": ("0", "1", "10"),
    "spark.sql.optimizer.collapseProjectAlwaysInline": ("true", "false"),
    "spark.sql.optimizer.propagateDistinctKeys.enabled": ("true", "false"),
    "spark.sql.optimizer.nestedSchemaPruning.enabled": ("true", "false"),
    "spark.sql.optimizer.enableJsonExpressionOptimization": ("true", "false"),
    "spark.sql.constraintPropagation.enabled": ("true", "false"),
    "spark.sql.session.timeZone": ("UTC", "Asia/Kolkata", "America/New_York"),
    "spark.sql.ansi.enabled": ("true", "false"),
    "spark.sql.adaptive.enabled": ("true", "false"),
    "spark.sql.codegen.wholeStage": ("true", "false"),
    "spark.sql.codegen.maxFields": ("2", "100"),
    "spark.sql.execution.useHashAggregateExec": ("true", "false"),
    "spark.sql.autoBroadcastJoinThreshold": ("-1", "10MB"),
    "spark.sql.shuffle.partitions": ("1", "7"),
}


def settings(rng: Random) -> dict[str, str]:
    """A few settings, and some rules left out."""
    chosen = {key: rng.choice(OTHERS[key]) for key in rng.sample(sorted(OTHERS), rng.randint(0, 5))}
    excluded = rng.sample(sorted(RULES), rng.choice((0, 0, 1, 2, 5)))
    return {**chosen, EXCLUDED: ",".join(PACKAGE + name for name in excluded)}


def analyzed(rng: Random) -> Query:
    """The next random query that the analyzer takes."""
    while True:
        query = Query.of(parse_description(random_case(rng.randrange(10**6)).description))
        with contextlib.suppress(StateplanError):
            query.execution.checked  # noqa: B018
            return query


def explained(query: Query, changed: dict[str, str]) -> str:
    """The plan of an analyzed query under other settings."""
    first = query.execution
    again = IncrementalExecution(
        first.logical,
        catalog=first.catalog,
        output_mode=first.output_mode,
        conf=first.conf.updated(changed),
        ids=itertools.count(100_000),
        analyzed=first.analyzed,
    )
    try:
        return normalise(explain(again))
    except StateplanError as error:
        return f"{error.condition}: {error.message}"


@pytest.mark.parametrize("seed", range(60))
def test_a_plan_depends_on_the_settings_of_now_alone(seed: int) -> None:
    rng = Random(seed)
    query = analyzed(rng)
    before, after = settings(rng), settings(rng)
    explained(query, before)
    assert explained(query, after) == explained(query.with_conf(query.conf), after)


def test_in_is_a_set_again_once_its_rule_is_back() -> None:
    """As Spark plans it; what one run left as it was is no longer so in the next."""
    constants = ", ".join(map(str, range(12)))
    query = stateplan.sql(
        f"SELECT n FROM STREAM events WHERE n IN ({constants}, 5 + 7)", {"events": "n INT"}
    )
    excluded = explained(query, {EXCLUDED: f"{PACKAGE}OptimizeIn,{PACKAGE}ConstantFolding"})
    assert " IN (0,1,2," in excluded and "(5 + 7)" in excluded
    assert "INSET 0, 1, 10, 11, 12, 2, " in explained(query, {})
