"""Small constructors of plans, as the fixture `make`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest

from stateplan.physical.explain.tree import tree_text
from stateplan.physical.plan import SparkPlan
from stateplan.physical.state import StatefulOperatorStateInfo
from stateplan.planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    Metadata,
    SortOrder,
    lit,
)
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.output_modes import OutputMode
from stateplan.planner.model.plans.logical import (
    Aggregate,
    Deduplicate,
    EventTimeWatermark,
    GlobalLimit,
    LocalLimit,
    Project,
    Sort,
)
from stateplan.planner.model.plans.query_plan import LogicalPlan
from stateplan.planner.model.plans.relations import StreamingRelation
from stateplan.planner.model.schemas.types import DOUBLE, INT, STRING, TIMESTAMP, WINDOW
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.strategies import plan_physical
from stateplan.rules.preparation import prepare

STATE = re.compile(r"state info \[[^]]*opId = (\d+)[^]]*\] stateStoreCkptIds = None")


class FakeExecution:
    """What the preparation rules ask of an execution."""

    watermark_late: int | None = None
    watermark_eviction: int | None = None
    adaptive: bool | None = None

    def __init__(self, output_mode: OutputMode, conf: Conf, version: int = 0) -> None:
        self.output_mode: OutputMode = output_mode
        self.conf = conf
        self.version = version
        self.ids = itertools.count()

    def next_stateful_operation_state_info(self) -> StatefulOperatorStateInfo:
        return StatefulOperatorStateInfo(
            checkpoint_location="<unknown>",
            run_id="run",
            operator_id=next(self.ids),
            version=self.version,
            num_partitions=self.conf.shuffle_partitions,
        )


class Make:
    """Columns of one stream and the plans over it."""

    def __init__(self) -> None:
        self.user = AttributeReference(name="user", type_=STRING)
        self.ts = AttributeReference(name="ts", type_=TIMESTAMP)
        self.amount = AttributeReference(name="amount", type_=DOUBLE)
        self.qty = AttributeReference(name="qty", type_=INT)
        columns = (self.user, self.ts, self.amount, self.qty)
        self.events = StreamingRelation(
            name="events", format="FileSource[events]", attributes=columns
        )

    def execution(self, mode: OutputMode = "append", **settings: str) -> FakeExecution:
        named = {"spark.sql." + k.replace("__", "."): v for k, v in settings.items()}
        return FakeExecution(mode, Conf({"spark.sql.shuffle.partitions": "5", **named}))

    def call(self, name: str, *arguments: Expression) -> Call:
        return Call(name=name, arguments=arguments)

    def aggregate(
        self, name: str, *arguments: Expression, where: Expression | None = None
    ) -> AggregateExpression:
        call = self.call(name, *arguments)
        checked = call.spec.check(call, Conf()) if call.spec.check else call
        assert isinstance(checked, Call)
        return AggregateExpression(function=checked, filter=where)

    def count(self) -> AggregateExpression:
        return self.aggregate("count", lit(1))

    def counted(self, *keys: Expression, child: LogicalPlan | None = None) -> Aggregate:
        return self.grouped(keys, Alias(child=self.count(), name="n"), child=child)

    def grouped(
        self, keys: tuple[Expression, ...], *results: Expression, child: LogicalPlan | None = None
    ) -> Aggregate:
        return Aggregate(grouping=keys, aggregates=(*keys, *results), child=child or self.events)

    def watermark(self, child: LogicalPlan | None = None) -> EventTimeWatermark:
        return EventTimeWatermark(
            event_time=self.ts,
            delay=(0, 0, 600_000_000),
            delay_text="10 minutes",
            node_id="node",
            child=child or self.events,
        )

    @property
    def timed(self) -> AttributeReference:
        """The event-time column behind `watermark`."""
        return self.watermark().output[1]

    def session(self) -> tuple[AttributeReference, LogicalPlan]:
        """A session column and a plan that gives it beside the user."""
        gap = self.call("named_struct", lit("start"), self.timed, lit("end"), self.timed)
        column = Alias(
            child=gap, name="session_window", explicit_metadata=Metadata(600_000, "session")
        )
        return column.to_attribute(), self.project(self.user, column, child=self.watermark())

    def window(self, child: LogicalPlan | None = None) -> tuple[AttributeReference, LogicalPlan]:
        """A time window's column and a plan that gives it beside the user."""
        column = AttributeReference(name="window", type_=WINDOW, metadata=Metadata(600_000, "time"))
        source = StreamingRelation(name="w", format="FileSource[w]", attributes=(column, self.user))
        return column, source

    def project(self, *columns: Expression, child: LogicalPlan | None = None) -> Project:
        return Project(project_list=columns, child=child or self.events)

    def dedup(self, *keys: Expression, child: LogicalPlan | None = None) -> Deduplicate:
        return Deduplicate(keys=keys, child=child or self.events)

    def limit(self, number: int, child: LogicalPlan) -> GlobalLimit:
        local = LocalLimit(limit=lit(number), child=child)
        return GlobalLimit(limit=lit(number), child=local)

    def sort(self, *keys: Expression, child: LogicalPlan) -> Sort:
        return Sort(order=tuple(SortOrder(child=k) for k in keys), child=child)

    def planned(self, logical: LogicalPlan, execution: FakeExecution | None = None) -> SparkPlan:
        """The physical plan before preparation."""
        chosen = execution or self.execution()
        return plan_physical(logical, output_mode=chosen.output_mode, conf=chosen.conf)

    def prepared(self, logical: LogicalPlan, execution: FakeExecution | None = None) -> SparkPlan:
        """The executed plan."""
        chosen = execution or self.execution()
        return prepare(self.planned(logical, chosen), chosen)

    def text(self, plan: SparkPlan) -> str:
        """The plan's tree, ids counted from 0 by appearance, state info as `state N`."""
        ids: dict[str, str] = {}
        text = STATE.sub(r"state \1", tree_text(plan)).replace("-9223372036854775808", "-")
        return re.sub(r"#(\d+)", lambda m: "#" + ids.setdefault(m[1], str(len(ids))), text)


@pytest.fixture
def make() -> Iterator[Make]:
    with id_scope(itertools.count()):
        yield Make()
