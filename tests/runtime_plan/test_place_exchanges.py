"""What a kernel takes is computed before the exchange where that moves no more columns."""

from __future__ import annotations

import pytest

from runtime_plan.small import (
    USER,
    A,
    B,
    by,
    call,
    kernel,
    named,
    plus,
    select,
    source,
    text,
    tree,
)
from stateplan.planner.model.expressions.core import lit
from stateplan.runtime.plan import BatchFacts, RuntimeNode
from stateplan.runtime.plan.passes.place_exchanges import place_exchanges

FACTS = BatchFacts()
PRODUCT = named(call("*", A, B), "product")


def placed(plan: RuntimeNode) -> str:
    after = place_exchanges(plan, FACTS)
    assert place_exchanges(after, FACTS) is after
    assert after.output == plan.output
    return text(after)


def test_two_columns_that_make_one_are_not_sent() -> None:
    sent = by(USER, child=select(source(USER, A, B), USER, A, B))
    assert placed(kernel(select(sent, USER, PRODUCT))) == tree("""
        Kernel StreamingDeduplicate 0 (4 stores)
        +- Exchange by [user#0]
           +- Select [user#0, (a#1 * b#2) AS product#3]
              +- ReadSource events [user#0, a#1, b#2]
    """)


def test_as_many_columns_are_computed_before_where_there_are_more_tasks() -> None:
    sent = by(USER, child=select(source(USER, A), USER, A))
    plan = kernel(select(sent, USER, named(plus(A, 1), "x")))
    assert placed(plan).split("\n")[1] == "+- Exchange by [user#0]"


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(
            select(
                by(USER, child=select(source(USER, A), USER, A)),
                USER,
                named(plus(A, 1), "x"),
                named(plus(A, 2), "y"),
            ),
            id="more columns would be sent",
        ),
        pytest.param(
            select(
                by(USER, child=select(source(USER, A, B), USER, A, B)),
                USER,
                PRODUCT,
                where=[call(">", A, lit(0))],
            ),
            id="rows are filtered above",
        ),
        pytest.param(
            select(by(USER, child=source(USER, A, B)), USER, PRODUCT),
            id="what is sent comes from no select",
        ),
        pytest.param(by(USER, child=select(source(USER, A), USER, A)), id="nothing is computed"),
    ],
)
def test_the_exchange_stays_where(rows: RuntimeNode) -> None:
    plan = kernel(rows)
    assert place_exchanges(plan, FACTS) is plan


def test_an_exchange_without_a_kernel_stays() -> None:
    plan = select(by(USER, child=select(source(USER, A, B), USER, A, B)), USER, PRODUCT)
    assert place_exchanges(plan, FACTS) is plan


def test_a_value_that_the_upper_select_uses_twice_is_sent() -> None:
    length = named(call("length", USER), "length")
    shown = length.to_attribute()
    sent = by(USER, child=select(source(USER), USER, length))
    plan = kernel(select(sent, USER, named(call("*", shown, shown), "square")))
    assert place_exchanges(plan, FACTS) is plan
