"""The optimizer's rewrites of operators: small plans built by hand, the printed tree compared."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from stateplan.planner.model.errors import InternalError, PlanningError
from stateplan.planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Cast,
    Expression,
    GetStructField,
    Literal,
    SortOrder,
    lit,
)
from stateplan.planner.model.functions import resolve
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.plans.logical import (
    Aggregate,
    Deduplicate,
    Distinct,
    EventTimeWatermark,
    Filter,
    Generate,
    GlobalLimit,
    Join,
    LocalLimit,
    Project,
    Sort,
    Union,
)
from stateplan.planner.model.plans.query_plan import LogicalPlan
from stateplan.planner.model.plans.relations import Relation, StreamingRelation, SubqueryAlias
from stateplan.planner.model.schemas.types import (
    BYTE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.logical_text import tree_text
from stateplan.rules.optimization import optimize
from stateplan.rules.optimization.support.executor import Batch, rule, run_batch

ITEM = StructType((StructField("sku", STRING), StructField("qty", INT)))


def column(name: str, data_type: DataType, number: int) -> AttributeReference:
    return AttributeReference(name=name, type_=data_type, expr_id=number)


user, ts = column("user", STRING, 1), column("ts", TIMESTAMP, 2)
amount, qty = column("amount", DOUBLE, 3), column("qty", INT, 4)
key, item, items = (
    column("key", STRING, 5),
    column("item", ITEM, 6),
    column("items", ArrayType(ITEM), 7),
)
price = column("price", DecimalType(8, 2), 8)
events = StreamingRelation(name="events", format="events", attributes=(user, ts, amount, qty))
orders = StreamingRelation(name="orders", format="orders", attributes=(key, item, items, price))
table = Relation(name="users", format="json", attributes=(column("name", STRING, 9),))


def f(name: str, *arguments: Expression) -> Expression:
    return resolve(name, arguments, Conf())


def alias(expression: Expression, name: str, number: int) -> Alias:
    return Alias(child=expression, name=name, expr_id=number)


def total(argument: Expression, name: str = "sum") -> AggregateExpression:
    return AggregateExpression(function=Call(name=name, arguments=(argument,)))


def where(child: LogicalPlan, *conjuncts: Expression) -> Filter:
    condition = conjuncts[0]
    for conjunct in conjuncts[1:]:
        condition = f("and", condition, conjunct)
    return Filter(child=child, condition=condition)


def select(child: LogicalPlan, *items: Expression) -> Project:
    return Project(child=child, project_list=items)


def watermark(child: LogicalPlan) -> EventTimeWatermark:
    return EventTimeWatermark(
        child=child, event_time=ts, delay=(0, 0, 60_000_000), delay_text="1 minutes", node_id="w"
    )


def limit(child: LogicalPlan, number: int) -> GlobalLimit:
    return GlobalLimit(child=LocalLimit(child=child, limit=lit(number)), limit=lit(number))


def shown(plan: LogicalPlan) -> list[str]:
    """The optimized tree, line by line, without what is the same everywhere."""
    with id_scope(itertools.count(1000)):
        best = optimize(plan, Conf())
        assert [a.expr_id for a in best.output] == [a.expr_id for a in plan.output]
        again = optimize(best, Conf())
    assert tree_text(again) == tree_text(best)
    return tree_text(best).replace("~", "").replace(", name=<Unassigned>", "").splitlines()


EVENTS = "StreamingRelation events, [user#1, ts#2, amount#3, qty#4]"
ORDERS = "StreamingRelation orders, [key#5, item#6, items#7, price#8]"


def test_names_go_and_the_columns_of_an_aggregate_are_pruned_in_the_inputs_order() -> None:
    named = SubqueryAlias(child=events, alias="e")
    plan = Aggregate(child=named, grouping=(qty,), aggregates=(qty, alias(total(amount), "x", 10)))
    assert shown(plan) == [
        "Aggregate [qty#4], [qty#4, sum(amount#3) AS x#10]",
        "+- Project [amount#3, qty#4]",
        f"   +- {EVENTS}",
    ]


def test_no_project_where_nothing_is_pruned() -> None:
    assert shown(Deduplicate(child=events, keys=(user,))) == [
        "Deduplicate [user#1]",
        f"+- {EVENTS}",
    ]


def test_a_filter_says_that_its_columns_are_not_null() -> None:
    assert shown(where(events, f(">", qty, lit(1)), f("isnotnull", user))) == [
        "Filter (isnotnull(qty#4) AND ((qty#4 > 1) AND isnotnull(user#1)))",
        f"+- {EVENTS}",
    ]


def test_an_or_says_nothing_of_nulls() -> None:
    plan = where(events, f("or", f(">", qty, lit(1)), f("=", user, lit("a"))))
    assert shown(plan) == ["Filter ((qty#4 > 1) OR (user#1 = a))", f"+- {EVENTS}"]


def test_a_false_filter_stays_over_a_stream() -> None:
    assert shown(where(events, f("=", lit(True), lit(False)))) == ["Filter false", f"+- {EVENTS}"]


def test_event_time_conjuncts_stay_above_the_watermark() -> None:
    plan = where(watermark(events), f("isnotnull", ts), f("isnotnull", user))
    assert shown(plan) == [
        "Filter isnotnull(ts#2)",
        "+- EventTimeWatermark w, ts#2: timestamp, 1 minutes",
        "   +- Filter isnotnull(user#1)",
        f"      +- {EVENTS}",
    ]


def test_conjuncts_on_keys_move_below_the_aggregate() -> None:
    counted = alias(total(lit(1), "count"), "n", 10)
    grouped = Aggregate(child=events, grouping=(user,), aggregates=(user, counted))
    n = grouped.output[1]
    plan = where(grouped, f("isnotnull", user), f("isnotnull", n))
    assert shown(plan) == [
        "Filter isnotnull(n#10L)",
        "+- Aggregate [user#1], [user#1, count(1) AS n#10L]",
        "   +- Project [user#1]",
        "      +- Filter isnotnull(user#1)",
        f"         +- {EVENTS}",
    ]


def test_filters_stay_above_a_deduplication_and_a_limit() -> None:
    kept = f("isnotnull", user)
    assert shown(where(Deduplicate(child=events, keys=(user,)), kept))[0] == (
        "Filter isnotnull(user#1)"
    )
    assert shown(where(limit(events, 3), kept))[0] == "Filter isnotnull(user#1)"


def test_projections_collapse_where_nothing_is_computed_twice() -> None:
    inner = select(events, alias(f("upper", user), "u", 10))
    (u,) = inner.output
    once = select(inner, alias(f("lower", u), "x", 11))
    assert shown(once) == ["Project [lower(user#1) AS x#11]", f"+- {EVENTS}"]
    twice = select(inner, u, alias(f("length", u), "x", 11))
    assert shown(twice) == [
        "Project [u#10, length(u#10) AS x#11]",
        "+- Project [upper(user#1) AS u#10]",
        f"   +- {EVENTS}",
    ]


def test_grouping_expressions_get_a_column() -> None:
    upper = f("upper", user)
    plan = Aggregate(child=events, grouping=(upper,), aggregates=(alias(upper, "u", 10),))
    first, second, third = shown(plan)
    assert first.startswith("Aggregate [_groupingexpression#")
    assert first.endswith(" AS u#10]")
    assert second.startswith("+- Project [upper(user#1) AS _groupingexpression#")
    assert third == f"   +- {EVENTS}"


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [((user, lit("x")), "[user#1]"), ((lit("x"),), "[0]"), ((user, user), "[user#1]")],
)
def test_useless_grouping_keys_go(grouping: tuple[Expression, ...], expected: str) -> None:
    plan = Aggregate(child=events, grouping=grouping, aggregates=(alias(total(qty), "x", 10),))
    assert shown(plan)[0] == f"Aggregate {expected}, [sum(qty#4) AS x#10L]"


def test_distinct_is_an_aggregate() -> None:
    assert shown(Distinct(child=select(events, user)))[0] == "Aggregate [user#1], [user#1]"


def test_projections_and_filters_move_into_unions() -> None:
    other = replace(events, attributes=tuple(a.new_instance() for a in events.attributes))
    both = Union(inputs=(events, other))
    first, *rest = shown(select(where(both, f("isnotnull", qty)), user))
    assert first == "Union false, false"
    assert rest[:3] == [
        ":- Project [user#1]",
        ":  +- Filter isnotnull(qty#4)",
        f":     +- {EVENTS}",
    ]
    assert rest[4].startswith("   +- Filter isnotnull(qty#")


def test_limits_are_repeated_below_a_union() -> None:
    lines = shown(limit(Union(inputs=(events, orders_like_events())), 5))
    assert [line.strip(":+- ") for line in lines if "Limit" in line] == [
        "GlobalLimit 5",
        "LocalLimit 5",
        "LocalLimit 5",
        "LocalLimit 5",
    ]


def orders_like_events() -> LogicalPlan:
    return replace(events, attributes=tuple(a.new_instance() for a in events.attributes))


def test_limit_zero_is_nothing_but_an_aggregate_of_nothing_stays() -> None:
    assert shown(select(limit(events, 0), user)) == ["LocalRelation <empty>, [user#1]"]
    plan = Aggregate(
        child=limit(events, 0), grouping=(user,), aggregates=(alias(total(qty), "x", 10),)
    )
    assert shown(plan)[0].startswith("Aggregate")


def test_a_projection_moves_below_a_limit() -> None:
    assert shown(select(limit(events, 3), user)) == [
        "GlobalLimit 3",
        "+- LocalLimit 3",
        "   +- Project [user#1]",
        f"      +- {EVENTS}",
    ]


def test_constants_are_put_where_they_are_used_but_not_into_a_streams_aggregate() -> None:
    inner = select(events, user, alias(lit(5), "five", 10))
    five = inner.output[1]
    assert shown(where(inner, f("=", qty_of(inner), five)))[1].startswith("+- Filter")
    plan = Aggregate(child=inner, grouping=(user,), aggregates=(alias(total(five), "x", 11),))
    assert shown(plan)[0] == "Aggregate [user#1], [sum(five#10) AS x#11L]"


def qty_of(plan: LogicalPlan) -> Expression:
    return f("length", plan.output[0])


def test_a_sort_below_an_aggregate_goes() -> None:
    ordered = Sort(child=events, order=(SortOrder(child=user),))
    plan = Aggregate(
        child=ordered, grouping=(user,), aggregates=(alias(total(qty, "max"), "x", 10),)
    )
    assert not any("Sort" in line for line in shown(plan))


def test_small_decimals_are_summed_as_whole_numbers() -> None:
    plan = Aggregate(child=orders, grouping=(), aggregates=(alias(total(price), "x", 10),))
    assert shown(plan)[0] == ("Aggregate [MakeDecimal(sum(UnscaledValue(price#8)),18,2) AS x#10]")


def test_one_field_of_a_struct_gets_a_column() -> None:
    sku = GetStructField(child=item, ordinal=0, name="sku")
    plan = Aggregate(child=orders, grouping=(key,), aggregates=(alias(total(sku, "max"), "x", 10),))
    first, second, _ = shown(plan)
    assert "max(_extract_sku#" in first
    assert second.startswith("+- Project [key#5, item#6.sku AS _extract_sku#")


def explode(child: LogicalPlan, outer: bool = False) -> Generate:
    made = column("i", ITEM, 20)
    generator = Call(name="explode", arguments=(items,))
    return Generate(child=child, generator=generator, outer=outer, generated=(made,))


def test_an_exploded_array_is_not_empty() -> None:
    assert shown(select(explode(orders), key, column("i", ITEM, 20))) == [
        "Generate explode(items#7), [1], false, [i#20]",
        "+- Project [key#5, items#7]",
        "   +- Filter ((size(items#7, false) > 0) AND isnotnull(items#7))",
        f"      +- {ORDERS}",
    ]


def test_an_outer_generator_keeps_empty_arrays() -> None:
    lines = shown(select(explode(orders, outer=True), key, column("i", ITEM, 20)))
    assert not any("Filter" in line for line in lines)


def test_join_sides_are_filtered_for_nulls_of_the_keys() -> None:
    (name,) = table.attributes
    plan = Join(left=events, right=table, join_type="Inner", condition=f("=", user, name))
    assert [line.strip(":+- ") for line in shown(plan)][:3] == [
        "Join Inner, (user#1 = name#9)",
        "Filter isnotnull(user#1)",
        EVENTS,
    ]


def test_a_rule_that_changes_the_columns_is_our_mistake() -> None:
    def drop(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
        return select(plan, user)

    with pytest.raises(InternalError, match="The rule drop changed the columns"):
        run_batch(Batch("bad", (rule(drop),)), events, Conf())


def test_rules_that_never_end_are_our_mistake() -> None:
    def turn(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
        assert isinstance(plan, Filter)
        return where(events, Literal(value=None, type_=INT))

    with pytest.raises(InternalError, match='The rules of "bad" keep changing the plan'):
        run_batch(Batch("bad", (rule(turn),)), where(events, f("isnotnull", user)), Conf())


@pytest.mark.parametrize(
    ("failing", "condition"),
    [
        (f("/", lit(1), lit(0)), "DIVIDE_BY_ZERO"),
        (f("%", lit(1), lit(0)), "REMAINDER_BY_ZERO"),
        (f("+", lit(2**31 - 1), lit(1)), "ARITHMETIC_OVERFLOW"),
        (Cast(child=lit("x"), type_=INT), "CAST_INVALID_INPUT"),
        (Cast(child=lit("x"), type_=TIMESTAMP), "CAST_INVALID_INPUT"),
        (Cast(child=lit(300), type_=BYTE), "CAST_OVERFLOW"),
    ],
)
def test_constants_that_must_fail_are_refused(failing: Expression, condition: str) -> None:
    with pytest.raises(PlanningError) as refused:
        optimize(select(events, alias(failing, "x", 10)), Conf())
    assert refused.value.condition == condition
    assert refused.value.hint


def test_a_failing_constant_in_a_branch_may_never_be_computed() -> None:
    risky = f("if", f("isnull", qty), Cast(child=lit("x"), type_=INT), lit(2))
    assert shown(select(events, alias(risky, "x", 10)))[0] == (
        "Project [if (isnull(qty#4)) cast(x as int) else 2 AS x#10]"
    )
