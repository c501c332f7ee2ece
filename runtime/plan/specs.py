"""What the kernels of a runtime plan do, in the planner's terms: typed, without Arrow.

A spec is the same in every batch: the times of a batch stand in the physical operator alone.
`runtime/engines/kernels.py` makes the kernels that run of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.aggregate import BaseAggregateExec
from ...physical.join_state import wrapped
from ...physical.plan import StateStoreWriter
from ...physical.state import NO_WATERMARK
from ...physical.stateful import SessionWindowStateStoreSaveExec
from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ...planner.model.errors import RuntimeFailure
from ...planner.model.expressions.core import AggregateExpression, AttributeReference, Expression
from ...planner.model.expressions.python_functions import PythonUDF
from ...planner.model.frozen import dataclass
from ...planner.model.output_modes import OutputMode
from ...planner.model.plans.join_types import JoinType
from ...planner.model.registry import AggregateForms
from ...planner.model.schemas.types import StructType


@dataclass(frozen=True, kw_only=True)
class BufferedFunction:
    """One aggregate function of an aggregation.

    Attributes:
        aggregate: the function.
        forms: how it is computed in steps.
        buffers: the columns of its buffers.
        travelling: the columns that come to the kernel: its buffers, or what they start from.
        emitted: the columns that the kernel gives for it: its buffers, or one that it makes of
            them.
    """

    aggregate: AggregateExpression
    forms: AggregateForms
    buffers: tuple[AttributeReference, ...]
    travelling: tuple[AttributeReference, ...]
    emitted: tuple[AttributeReference, ...]


@dataclass(frozen=True, kw_only=True)
class KernelSpec:
    """What one kernel does."""


@dataclass(frozen=True, kw_only=True)
class AggregateSpec(KernelSpec):
    """Merges the buffers of each key (`kernels/aggregates/aggregate.py`).

    Attributes:
        keys: the grouping columns, as the kernel sees them.
        functions: the functions.
        mode: the output mode.
        time: which key is the event time.
        sources: per buffer of all functions, which of the columns behind the keys makes it for a
            single row (None: it is 1). None: rows come grouped, with what all buffers start from
            and the number of rows that they are of.
    """

    keys: tuple[AttributeReference, ...]
    functions: tuple[BufferedFunction, ...]
    mode: OutputMode
    time: int | None = None
    sources: tuple[int | None, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class SessionSpec(KernelSpec):
    """Merges sessions that meet (`kernels/session.py`).

    Attributes:
        keys: the columns that state is kept by, as the kernel sees them.
        session: the column of the session.
        position: where among the keys it stands in the output.
        gap: the length that every row's session has, in microseconds; None: rows differ.
        functions, mode, sources: as for an aggregation.
        merge_first: whether lateness is judged by the session that rows of one origin make.
    """

    keys: tuple[AttributeReference, ...]
    session: AttributeReference
    position: int
    gap: int | None
    functions: tuple[BufferedFunction, ...]
    mode: OutputMode
    sources: tuple[int | None, ...]
    merge_first: bool = False


@dataclass(frozen=True, kw_only=True)
class DeduplicateSpec(KernelSpec):
    """Lets the first row of each key through (`kernels/deduplicate.py`).

    Attributes:
        rows: the columns, as the kernel sees them.
        keys: which of them make the key.
        time: which of them is the event time.
        within: after how many microseconds a key is forgotten; None: with its own event time.
    """

    rows: tuple[AttributeReference, ...]
    keys: tuple[int, ...]
    time: int | None = None
    within: int | None = None


@dataclass(frozen=True, kw_only=True)
class LimitSpec(KernelSpec):
    """Lets so many rows through over the life of a query (`kernels/limit.py`)."""

    rows: tuple[AttributeReference, ...]
    limit: int


@dataclass(frozen=True, kw_only=True)
class TimeOf:
    """The event time of a row as it travels.

    Attributes:
        place: the column: a time, or a window, of which the end counts.
        later: how many microseconds after it, for a window that travels as its start.
    """

    place: int
    later: int = 0


@dataclass(frozen=True, kw_only=True)
class JoinSideSpec:
    """One side of a join of two streams.

    Attributes:
        columns: what a row of it holds, as it travels and as it is kept.
        places: where each of them stands in a row of the joined stream.
        fits: where that row says whether it fulfils the conditions on this side alone; None: there
            are none.
        time: its event time.
        kept_time: the time by which it leaves the state; None: it never does.
    """

    columns: tuple[AttributeReference, ...]
    places: tuple[int, ...]
    fits: int | None = None
    time: TimeOf | None = None
    kept_time: TimeOf | None = None


@dataclass(frozen=True, kw_only=True)
class JoinSpec(KernelSpec):
    """Joins each side's new rows with all that are kept of the other (`kernels/joins/join.py`).

    A row of the joined stream says in its first column whether it is of the right side; then come
    the keys, then the columns of either side.

    Attributes:
        join_type: how.
        keys: what is equal in a match: nulls, too, equal each other.
        left, right: the sides.
        padded: the sides (`left`, `right`) whose rows come out padded if they match none.
        condition: what else a match fulfils, over the columns of both sides.
    """

    join_type: JoinType
    keys: tuple[AttributeReference, ...]
    left: JoinSideSpec
    right: JoinSideSpec
    padded: tuple[str, ...] = ()
    condition: Expression | None = None

    @property
    def sides(self) -> tuple[JoinSideSpec, JoinSideSpec]:
        """Left and right."""
        return self.left, self.right


@dataclass(frozen=True, kw_only=True)
class UserStateSpec(KernelSpec):
    """Calls a function of the user's with the rows of each key (`kernels/user_state/kernel.py`).

    Attributes:
        rows: the columns, as the kernel sees them.
        keys: which of them make the key.
        function: the function.
        given: which of them it gets.
        emitted: the columns of what it returns, as the kernel gives them.
        time: which of the rows' columns is the event time.
    """

    rows: tuple[AttributeReference, ...]
    keys: tuple[int, ...]
    function: PythonUDF
    given: tuple[int, ...]
    emitted: tuple[AttributeReference, ...]
    time: int | None = None


@dataclass(frozen=True, kw_only=True)
class GroupStateSpec(UserStateSpec):
    """Calls a function that keeps one state a key (`kernels/user_state/group_state.py`).

    Attributes:
        state: the schema of the state.
        timeout: NoTimeout, ProcessingTimeTimeout or EventTimeTimeout.
    """

    state: StructType
    timeout: str


@dataclass(frozen=True, kw_only=True)
class ProcessorSpec(UserStateSpec):
    """Calls a processor with state variables and timers (`kernels/user_state/processor.py`).

    Attributes:
        rows_as: what the processor gets: `pandas` or `python_row`.
        time_mode: NoTime, ProcessingTime or EventTime.
        initial: which columns rows of the initial state have, in the first batch.
        initial_names: how the processor knows them.
        tag: the column that says whether a row is one.
        emitted_time: which of the columns that it returns is the event time of what follows; it
            must not be late.
    """

    rows_as: str
    time_mode: str
    initial: tuple[int, ...] = ()
    initial_names: tuple[str, ...] = ()
    tag: int | None = None
    emitted_time: int | None = None


@dataclass(frozen=True, kw_only=True)
class Watermarks:
    """Up to which event times rows are late, and state leaves, in microseconds; None: never."""

    late: int | None = None
    evict: int | None = None


def watermarks_of(operator: StateStoreWriter | None) -> Watermarks:
    """The watermarks of a batch's operator: none before a query starts."""
    if operator is None or (
        isinstance(operator, SessionWindowStateStoreSaveExec) and operator.session.delay_ms is None
    ):
        return Watermarks()
    return Watermarks(
        late=_micros(operator.event_time_watermark_for_late_events),
        evict=_micros(operator.event_time_watermark_for_eviction),
    )


def evictions_of(join: StreamingSymmetricHashJoinExec) -> tuple[int | None, int | None]:
    """Up to which time, in microseconds, the rows of either side leave; None: they stay."""
    watermark = join.event_time_watermark_for_eviction
    if watermark is None or watermark == NO_WATERMARK:
        return None, None
    left, right = join.state_watermarks(watermark)
    return (
        None if left is None else wrapped(left * 1000),
        None if right is None else wrapped(right * 1000),
    )


def _micros(watermark_ms: int | None) -> int | None:
    return None if watermark_ms is None or watermark_ms == NO_WATERMARK else watermark_ms * 1000


def event_time_position(columns: Sequence[AttributeReference]) -> int | None:
    """Which of some columns has a watermark: the first."""
    return next((i for i, column in enumerate(columns) if column.delay_ms is not None), None)


def functions_of(step: BaseAggregateExec) -> tuple[BufferedFunction, ...]:
    """The functions of an aggregation's first step, with columns for their buffers.

    Raises:
        RuntimeFailure: one cannot be computed in steps here.
    """
    return tuple(map(buffered, step.aggregates))


def merged_forms(aggregate: AggregateExpression) -> AggregateForms | None:
    """How a function is computed in steps that can be merged; None: it is not."""
    call = aggregate.function
    forms = None if call.spec.forms is None else call.spec.forms(call)
    return forms if forms is not None and forms.mergeable else None


def buffered(aggregate: AggregateExpression) -> BufferedFunction:
    """A function with columns for its buffers.

    Raises:
        RuntimeFailure: it cannot be computed in steps here.
    """
    call, forms = aggregate.function, merged_forms(aggregate)
    if forms is None:
        raise RuntimeFailure(
            "STATEPLAN_UNMERGEABLE_AGGREGATE",
            f"The aggregate function `{call.name}` can be planned, but not run: it cannot be "
            "merged batch by batch here.",
            hint="Leave it out, or use another function, such as approx_count_distinct, min, "
            "max or collect_list.",
        )
    buffers = tuple(AttributeReference(name=b.name, type_=b.data_type) for b in forms.buffers)
    travelling = emitted = buffers
    if forms.start is not None:
        travelling = tuple(
            AttributeReference(name=b.name, type_=b.data_type) for b in forms.travelling
        )
    if forms.finish is not None:
        emitted = (AttributeReference(name=call.name, type_=call.data_type),)
    return BufferedFunction(
        aggregate=aggregate, forms=forms, buffers=buffers, travelling=travelling, emitted=emitted
    )
