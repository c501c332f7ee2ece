"""The kernels that run, from what the runtime plan says of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from ...physical.python_state import PythonStatefulExec
from ...physical.state import NO_WATERMARK
from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ...planner.model.settings.conf import Conf
from ..arrow_types import arrow_schema, arrow_type, column_name
from ..kernels.aggregates.aggregate import AggregateKernel
from ..kernels.aggregates.buffers import Buffers, BufferStart, MergeStep, OutputColumn, RowBuffers
from ..kernels.deduplicate import DeduplicateKernel
from ..kernels.joins.join import Condition, JoinKernel, JoinSide, Moment
from ..kernels.kernel import Kernel
from ..kernels.limit import LimitKernel
from ..kernels.observed import ObservedRows
from ..kernels.session import SessionKernel
from ..kernels.user_state.group_state import GroupStateKernel
from ..kernels.user_state.processor import InitialColumns, ProcessorKernel
from ..kernels.windows import Windows
from ..plan.carried import Carried, plain
from ..plan.nodes import Kernel as KernelNode
from ..plan.observing_nodes import ObserveBuffers
from ..plan.specs import (
    AggregateSpec,
    BufferedFunction,
    DeduplicateSpec,
    GroupStateSpec,
    JoinSideSpec,
    JoinSpec,
    KernelSpec,
    LimitSpec,
    ProcessorSpec,
    SessionSpec,
    TimeOf,
    evictions_of,
    watermarks_of,
)
from .evaluating import evaluator
from .user_state import declared_by, evolves_by_name, pandas_settings, state_json, user_function


def kernel_of(node: KernelNode, conf: Conf) -> Kernel:
    """The kernel of a node."""
    return _kernel(node.spec, node, conf)


@singledispatch
def _kernel(spec: KernelSpec, node: KernelNode, conf: Conf) -> Kernel:
    raise TypeError(f"no kernel for {type(spec).__name__}")


@_kernel.register
def _(spec: AggregateSpec, node: KernelNode, conf: Conf) -> Kernel:
    rows = None
    if spec.sources is not None:
        empty = tuple(b.empty for f in spec.functions for b in f.forms.buffers)
        rows = RowBuffers(_behind(node.taken, len(spec.keys)), spec.sources, empty)
    times = watermarks_of(node.operator)
    return AggregateKernel(
        keys=arrow_schema(spec.keys),
        buffers=buffers_of(spec.functions),
        mode=spec.mode,
        time=spec.time,
        late=times.late,
        evict=times.evict,
        rows=rows,
    )


@_kernel.register
def _(spec: SessionSpec, node: KernelNode, conf: Conf) -> Kernel:
    times = watermarks_of(node.operator)
    return SessionKernel(
        keys=arrow_schema(spec.keys),
        session=arrow_schema([spec.session]).field(0),
        gap=spec.gap,
        position=spec.position,
        buffers=buffers_of(spec.functions),
        mode=spec.mode,
        made=RowBuffers(_behind(node.taken, len(spec.keys) + 1), spec.sources),
        merge_first=spec.merge_first,
        late=times.late,
        evict=times.evict,
    )


@_kernel.register
def _(spec: DeduplicateSpec, node: KernelNode, conf: Conf) -> Kernel:
    times = watermarks_of(node.operator)
    return DeduplicateKernel(
        rows=arrow_schema(spec.rows),
        keys=spec.keys,
        time=spec.time,
        within=spec.within,
        late=times.late,
        evict=times.evict,
    )


@_kernel.register
def _(spec: JoinSpec, node: KernelNode, conf: Conf) -> Kernel:
    condition = None
    if spec.condition is not None:
        used = spec.condition.references
        columns = [c for side in spec.sides for c in side.columns]
        places = tuple(i for i, c in enumerate(columns) if c.expr_id in used)
        program = evaluator((), [columns[i] for i in places], [spec.condition])
        condition = Condition(program, places)
    assert isinstance(node.operator, StreamingSymmetricHashJoinExec)
    late, evictions = watermarks_of(node.operator).late, evictions_of(node.operator)
    return JoinKernel(
        rows=arrow_schema(c.column for c in node.taken),
        keys=arrow_schema(spec.keys),
        semi=spec.join_type == "LeftSemi",
        padded=spec.padded,
        left=_join_side(spec.left, late, evictions[0]),
        right=_join_side(spec.right, late, evictions[1]),
        condition=condition,
    )


def _join_side(side: JoinSideSpec, late: int | None, evict: int | None) -> JoinSide:
    return JoinSide(
        columns=arrow_schema(side.columns),
        places=side.places,
        fits=side.fits,
        time=_moment(side.time),
        late=late,
        kept_time=_moment(side.kept_time),
        evict=evict,
    )


def _moment(time: TimeOf | None) -> Moment | None:
    return None if time is None else Moment(time.place, time.later)


@_kernel.register
def _(spec: GroupStateSpec, node: KernelNode, conf: Conf) -> Kernel:
    operator = _python_operator(node)
    return GroupStateKernel(
        rows=arrow_schema(spec.rows),
        keys=spec.keys,
        emits=arrow_schema(spec.emitted),
        function=user_function(spec.function, spec.given),
        state=state_json(spec.state),
        timeout=spec.timeout,
        settings=pandas_settings(conf),
        now_ms=operator.batch_timestamp_ms,
        watermark_ms=_watermark_ms(operator),
        time=spec.time,
        late=watermarks_of(operator).late,
    )


@_kernel.register
def _(spec: ProcessorSpec, node: KernelNode, conf: Conf) -> Kernel:
    declared = declared_by(spec.function, spec.time_mode)
    initial = None
    if spec.tag is not None:
        initial = InitialColumns(tag=spec.tag, columns=spec.initial, names=spec.initial_names)
    operator = _python_operator(node)
    return ProcessorKernel(
        rows=arrow_schema(spec.rows),
        keys=spec.keys,
        names=tuple(spec.rows[i].name for i in spec.keys),
        emits=arrow_schema(spec.emitted),
        function=user_function(spec.function, spec.given),
        rows_as="pandas" if spec.rows_as == "pandas" else "python_row",
        variables=tuple(declared.variables.values()),
        deleted=tuple(declared.deleted),
        taken_back=declared.taken_back,
        time_mode=spec.time_mode,
        settings=pandas_settings(conf),
        now_ms=operator.batch_timestamp_ms,
        watermark_ms=_watermark_ms(operator),
        time=spec.time,
        late=watermarks_of(operator).late,
        initial=initial,
        by_name=evolves_by_name(conf),
        emitted_time=spec.emitted_time,
    )


def _python_operator(node: KernelNode) -> PythonStatefulExec:
    assert isinstance(node.operator, PythonStatefulExec)
    return node.operator


def _watermark_ms(operator: PythonStatefulExec) -> int | None:
    eviction = operator.event_time_watermark_for_eviction
    return None if eviction == NO_WATERMARK else eviction


@_kernel.register
def _(spec: LimitSpec, node: KernelNode, conf: Conf) -> Kernel:
    return LimitKernel(arrow_schema(spec.rows), spec.limit)


def observed_rows(node: ObserveBuffers) -> ObservedRows:
    """What aggregates the rows that pass a node."""
    carried = [plain(a) for a in node.made]
    parts = [part for column in carried for part in column.parts]
    empty = tuple(b.empty for f in node.functions for b in f.forms.buffers)
    rows = RowBuffers(arrow_schema(parts), node.sources, empty)
    return ObservedRows([column_name(a) for a in node.made], rows, buffers_of(node.functions))


def _behind(taken: Sequence[Carried], width: int) -> object:
    """The Arrow schema of the columns behind the keys."""
    return arrow_schema(part for column in taken[width:] for part in column.parts)


def windows_taken(node: KernelNode) -> Windows:
    """Which columns of a kernel's input are windows that travel in parts."""
    if isinstance(node.spec, SessionSpec):
        # It takes the bounds of sessions as they travel.
        return {}
    return windows_of(node.taken)


def windows_emitted(node: KernelNode) -> Windows:
    """Which columns of a kernel's output are windows that travel in parts."""
    # A join keeps and gives windows as they travel.
    return {} if isinstance(node.spec, JoinSpec) else windows_of(node.emitted)


def windows_of(columns: Sequence[Carried]) -> Windows:
    """Which columns are windows that travel in parts, by position, and their length."""
    return {i: column.size for i, column in enumerate(columns) if column.is_window}


def buffers_of(functions: Sequence[BufferedFunction]) -> Buffers:
    """How the buffer columns of all functions merge."""
    merges: list[MergeStep] = []
    outputs: list[OutputColumn] = []
    starts: dict[int, BufferStart] = {}
    start = 0
    for function in functions:
        forms = function.forms
        for merge in forms.merges:
            columns = tuple(start + position for position in merge.buffers)
            merges.append(MergeStep(merge.operation, columns, merge.constants))
        own = tuple(range(start, start + len(forms.buffers)))
        if forms.start is not None:
            kind = arrow_type(function.travelling[0].data_type)
            starts[start] = BufferStart(forms.start.kernel, forms.start.constants, kind)
        if forms.finish is None:
            outputs.extend(OutputColumn((i,)) for i in own)
        else:
            outputs.append(OutputColumn(own, forms.finish))
        start += len(own)
    return Buffers(
        arrow_schema(plain(b).seen for f in functions for b in f.buffers),
        tuple(merges),
        tuple(outputs),
        arrow_schema(plain(e).seen for f in functions for e in f.emitted),
        starts,
    )
