"""Small constructors of runtime plans, and their texts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from stateplan.physical.basic import StreamingRelationExec
from stateplan.physical.explain.normalise import normalise
from stateplan.physical.plan import SparkPlan
from stateplan.physical.state import StatefulOperatorStateInfo
from stateplan.physical.stateful import StreamingDeduplicateExec
from stateplan.planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    lit,
)
from stateplan.planner.model.schemas.types import INT, LONG, STRING, TIMESTAMP, DataType
from stateplan.runtime.plan.carried import plain
from stateplan.runtime.plan.nodes import AsIs, Exchange, Kernel, ReadSource, RuntimeNode, Select
from stateplan.runtime.plan.printing import plan_text
from stateplan.runtime.plan.specs import DeduplicateSpec


def column(name: str, data_type: DataType = INT) -> AttributeReference:
    return AttributeReference(name=name, type_=data_type)


A, B, USER, TS = column("a"), column("b"), column("user", STRING), column("ts", TIMESTAMP)


def call(name: str, *arguments: Expression) -> Call:
    return Call(name=name, arguments=arguments)


def plus(one: Expression, number: int) -> Call:
    return call("+", one, lit(number))


def named(value: Expression, name: str) -> Alias:
    return Alias(child=value, name=name)


def attribute(alias: Alias) -> AttributeReference:
    return alias.to_attribute()


def source(*columns: AttributeReference, name: str = "events") -> ReadSource:
    return ReadSource(name=name, attributes=columns or (A, B))


def select(child: RuntimeNode, *columns: Expression, where: Sequence[Expression] = ()) -> Select:
    return Select(child=child, conditions=tuple(where), columns=columns)


def by(*keys: Expression, child: RuntimeNode) -> Exchange:
    return Exchange(child=child, to="keys", keys=keys)


def as_is(operator: SparkPlan, *inputs: RuntimeNode) -> AsIs:
    return AsIs(inputs=inputs, operator=operator)


def relation(*columns: AttributeReference) -> StreamingRelationExec:
    return StreamingRelationExec(name="events", format="memory", attributes=columns)


def kernel(
    rows: RuntimeNode,
    *,
    single: bool = False,
    origin: AttributeReference | None = None,
    operator_id: int = 0,
) -> Kernel:
    """Deduplication by the first column."""
    taken = tuple(a for a in rows.output if a != origin)
    info = StatefulOperatorStateInfo(
        checkpoint_location="c", run_id="r", operator_id=operator_id, version=0, num_partitions=4
    )
    operator = StreamingDeduplicateExec(
        child=relation(*taken), keys=taken[:1], state_info=info, output_mode="append"
    )
    columns = tuple(map(plain, taken))
    return Kernel(
        inputs=(rows,),
        operator=operator,
        spec=DeduplicateSpec(rows=taken, keys=(0,)),
        taken=columns,
        emitted=columns,
        hashed=() if single else taken[:1],
        single=single,
        origin=origin,
    )


ORIGIN = column("origin", LONG)


def text(node: RuntimeNode) -> str:
    """The tree, ids counted from 0 by appearance; of a kernel its name alone."""
    lines = plan_text(node).split("\n")
    return normalise("\n".join(line.partition(": keeps the first")[0] for line in lines))


def tree(written: str) -> str:
    """A tree as a test has it, without its margin."""
    return textwrap.dedent(written).strip("\n")
