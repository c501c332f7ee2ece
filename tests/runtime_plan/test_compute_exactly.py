"""Only what an engine computes as Spark does is left to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from runtime_plan.queries import SCHEMAS, STORES, first_plan, of_code, text
from runtime_plan.small import tree
from stateplan.planner.model.errors import RuntimeFailure
from stateplan.planner.model.expressions.core import Call, Expression
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.schemas.types import DataType
from stateplan.planner.model.settings.conf import Conf
from stateplan.runtime.engines.embedded_exactness import EMBEDDED
from stateplan.runtime.plan import BatchFacts, runtime_plan
from stateplan.runtime.plan.facts import Reader
from stateplan.runtime.plan.passes.compute_exactly import compute_exactly

EVENTS = Reader(format="parquet", schema=parse_schema(SCHEMAS["events"]))


@dataclass(frozen=True)
class Table:
    """An `Exactness` that says which functions, steps and readers are wrong, which are lazy."""

    wrong: frozenset[str] = field(default_factory=frozenset)
    guards: frozenset[str] = frozenset()
    fails: bool = False

    def exact(self, expression: Expression, conf: Conf) -> Expression:
        return expression

    def disagreements(self, exact: Expression, conf: Conf) -> Sequence[tuple[Expression, str]]:
        calls = (part for part in exact.walk() if isinstance(part, Call))
        return [(call, f"{call.name} is wrong") for call in calls if call.name in self.wrong]

    def sort_key(self, key: Expression) -> Expression:
        return key

    def repeats(self, part: Expression) -> Sequence[int]:
        return ()

    def lazy(self, part: Expression) -> Sequence[Expression]:
        return part.children[1:] if isinstance(part, Call) and part.name in self.guards else ()

    def can_fail(self, exact: Expression, conf: Conf) -> bool:
        return self.fails

    def step_disagreements(self, step: str, types: Sequence[DataType], conf: Conf) -> Sequence[str]:
        return [f"{step} is wrong"] if step in self.wrong else []

    def reader_disagreements(self, reader: Reader, conf: Conf) -> Sequence[str]:
        return [f"{reader.format} is wrong"] if reader.format in self.wrong else []


def facts(*wrong: str, here: bool = False) -> BatchFacts:
    engine = replace(EMBEDDED, exactness=Table(frozenset(wrong)))
    return BatchFacts(conf=STORES, engine=engine, readers={} if here else {"events": EVENTS})


def after(sql: str, known: BatchFacts, mode: str = "append") -> str:
    plan = compute_exactly(first_plan(sql, mode), known)
    assert compute_exactly(plan, known) == plan
    return text(plan)


PLAIN = "SELECT upper(user) AS u, soundex(user) AS s FROM STREAM events WHERE price > 1"


def test_an_engine_that_is_spark_computes_all() -> None:
    plan = first_plan(PLAIN)
    assert compute_exactly(plan, BatchFacts(conf=STORES)) is plan


def test_what_agrees_is_the_engines() -> None:
    assert "in Arrow" not in after(PLAIN, facts())


def test_what_does_not_agree_is_computed_in_arrow() -> None:
    sql = "SELECT upper(user) AS u FROM STREAM events WHERE price > 1"
    assert after(sql, facts("upper")).startswith("Select (in Arrow) [upper(user#0) AS u#1]\n")


def test_a_select_is_divided_where_arrow_does_not_know_all_of_it() -> None:
    above, below, *_ = after(PLAIN, facts("upper")).split("\n")
    assert above.startswith("Select (in Arrow) [upper(user#0) AS u#1, s#2]")
    assert below == "+- Select [soundex(user#0) AS s#2, user#0]"


def test_arrow_computes_parts_for_the_engine_above_the_conditions_before() -> None:
    sql = (
        "SELECT soundex(upper(user)) AS s, "
        "explode(array_except(array(upper(user), 'x'), split(user, '-'))) AS e FROM STREAM events "
        "WHERE soundex(user) > 'a' AND soundex(lower(user)) > 'b'"
    )
    lines = after(sql, facts("upper", "lower")).split("\n")
    assert [re.sub("#[0-9]+", "", line.lstrip(" +-")) for line in lines][:-1] == [
        "Select [soundex(computed) AS s, e]",
        "Select (in Arrow) [e, upper(user) AS computed]",
        "Generate explode(array_except(computed, split(user, -, -1))), [user], false, [e]",
        "Select (in Arrow) [user, array(upper(user), x) AS computed]",
        "Select [user]",
        "Select [user, ts, qty, price] where (soundex(computed) > b)",
        "Select (in Arrow) [user, ts, qty, price, lower(user) AS computed]",
        "Select [user, ts, qty, price] where isnotnull(user) AND (soundex(user) > a)",
    ]


def test_what_can_fail_stays_where_spark_computes_it_for_some_rows() -> None:
    sql = "SELECT array(if(price > 1, soundex({}), '')) AS s FROM STREAM events"
    table = replace(Table(frozenset(("upper", "date_trunc"))), guards=frozenset(("if",)))
    known = replace(facts(), engine=replace(EMBEDDED, exactness=table))
    assert "computed#" in after(sql.format("upper(user)"), known)
    with pytest.raises(RuntimeFailure, match="date_trunc is wrong"):
        after(sql.format("CAST(date_trunc('day', ts) AS STRING)"), known)


def test_what_nobody_computes_exactly_is_refused_with_its_place() -> None:
    with pytest.raises(RuntimeFailure) as caught:
        after(PLAIN, facts("soundex"))
    assert caught.value.condition == "STATEPLAN_NOT_EXACT"
    assert "the expression soundex(user) (line 1) as Spark does: soundex is wrong." in str(
        caught.value
    )


def test_rows_in_this_process_need_no_engine() -> None:
    sql = "SELECT upper(user) AS u FROM STREAM events WHERE price > 1"
    assert "in Arrow" in after(sql, facts(here=True))
    assert "in Arrow" not in after(sql, facts())


def test_what_kernels_give_is_computed_where_it_is() -> None:
    sql = "SELECT user, count(*) + 1 AS n FROM STREAM events GROUP BY user"
    above, *_, below = after(sql, facts(), "update").split("\n")
    assert above.startswith("Select (in Arrow) [user#")
    assert "ReadSource" in below


@pytest.mark.parametrize("wrong", ["explode", "union", "parquet"])
def test_steps_and_readers_that_differ_are_refused(wrong: str) -> None:
    sql = (
        "SELECT explode(array(user)) AS u FROM STREAM events "
        "UNION ALL SELECT user FROM STREAM events"
    )
    assert "Union" in after(sql, facts())
    with pytest.raises(RuntimeFailure, match=f"{wrong} is wrong"):
        after(sql, facts(wrong))


def test_the_engine_computes_parts_for_arrow_above() -> None:
    sql = "SELECT upper(soundex(user)) AS s, qty FROM STREAM events WHERE price > 1"
    lines = re.sub("#[0-9]+", "", after(sql, facts("upper"))).split("\n")
    assert lines[0] == "Select (in Arrow) [upper(given) AS s, qty]"
    assert lines[1] == "+- Select [qty, soundex(user) AS given]"
    assert "where" in "".join(lines[2:])
    guarded = "SELECT if(price > 1, upper(soundex(user)), '') AS s, qty FROM STREAM events"
    table = replace(Table(frozenset(("upper",)), frozenset(("if",))), fails=True)
    with pytest.raises(RuntimeFailure, match=r"upper\(soundex\(user\)\)"):
        after(guarded, replace(facts(), engine=replace(EMBEDDED, exactness=table)))


def test_json_tuple_is_computed_in_arrow() -> None:
    plan = after("SELECT qty, json_tuple(user, 'a', 'b c') FROM STREAM events", facts())
    above = re.sub("#[0-9]+", "", plan.split("\n", 1)[0])
    paths = "get_json_object(user, $['a']) AS c0, get_json_object(user, $['b c']) AS c1"
    assert above in (f"Select [qty, {paths}]", f"Select (in Arrow) [qty, {paths}]")


def test_keys_of_an_order_are_given_in_the_engines_form() -> None:
    known = BatchFacts(conf=STORES, engine=EMBEDDED, readers={"events": EVENTS})
    sql = "SELECT user, max(price) AS p FROM STREAM events GROUP BY user ORDER BY p"
    plan = compute_exactly(first_plan(sql, "complete"), known)
    assert "Sort [exact[comparable]" in text(plan)


def test_sums_of_short_decimals_are_computed_in_arrow() -> None:
    known = BatchFacts(conf=STORES, engine=EMBEDDED, readers={"events": EVENTS})
    price = "CAST(qty AS DECIMAL(8,2))"
    sql = f"SELECT user, sum({price}) AS s, avg({price}) AS a FROM STREAM events GROUP BY user"
    above, *below = text(compute_exactly(first_plan(sql, "update"), known)).split("\n")
    assert above.startswith("Select (in Arrow) [user#") and "MakeDecimal(sum(" in above
    assert any("Select (in Arrow) [" in line and "UnscaledValue(" in line for line in below)


def test_floats_within_keys_have_one_nan_and_one_zero() -> None:
    known = BatchFacts(conf=STORES, engine=EMBEDDED, readers={"events": EVENTS})
    sql = "SELECT array(price) AS k, count(*) AS n FROM STREAM events GROUP BY 1"
    plan = text(compute_exactly(first_plan(sql, "update"), known))
    assert "Select (in Arrow) [knownfloatingpointnormalized(transform(" in plan


def called(function: str) -> str:
    """The runtime plan of a function in Python over a sum of two columns."""
    code = f"events.select(F.udf(lambda x, y: x, 'int'{function})(F.col('qty') + 1, 'user'))"
    plan = of_code({"python": code, "mode": "append"})
    return text(runtime_plan(plan, BatchFacts(conf=STORES, engine=EMBEDDED)))


def test_functions_in_python_get_columns_and_run_here() -> None:
    assert called("") == tree("""
        Select (in Arrow) [pythonUDF0#0 AS <lambda>((qty + 1), user)#1]
        +- Select (in Arrow) [user#2, qty#3, pythonUDF0#0]
           +- CallPython [<lambda>(argument#4, user#2)#5], [pythonUDF0#0]
              +- Select (in Arrow) [user#2, qty#3, (qty#3 + 1) AS argument#4]
                 +- CountRows events
                    +- ReadSource events [user#2, qty#3]
    """)


def test_functions_over_groups_run_here() -> None:
    code = "events.groupBy('user').applyInPandas(lambda rows: rows, 'user string, qty int')"
    plan = of_code({"python": code, "mode": "append"})
    assert text(runtime_plan(plan, BatchFacts(conf=STORES, engine=EMBEDDED))) == tree("""
        CallPythonOnGroups [<lambda>(user#0, ts#1, qty#2, price#3)#4], [user#5, qty#6], by [user#0]
        +- Select (in Arrow) [user#0, user#0, ts#1, qty#2, price#3]
           +- CountRows events
              +- ReadSource events [user#0, ts#1, qty#2, price#3]
    """)


def test_cogroups_by_keys_of_several_types_are_refused() -> None:
    both = "events.groupBy('user').cogroup(events.groupBy('qty'))"
    code = f"{both}.applyInPandas(lambda one, other: one, 'user string')"
    plan = of_code({"python": code, "mode": "append"})
    with pytest.raises(RuntimeFailure, match="a cogroup as Spark does: its keys have other types"):
        runtime_plan(plan, BatchFacts(conf=STORES, engine=EMBEDDED))


def test_functions_that_get_pickled_rows_run_here_too() -> None:
    assert called(", useArrow=False") == called("")
