"""Users' functions in the client's plans: calls in expressions, and operators that run them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.util import PythonEvalType

from ..model.errors import AnalysisError
from ..model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    Literal,
    Origin,
    lit,
)
from ..model.expressions.python_functions import EvalKind, PythonUDF, ScalaUDF
from ..model.expressions.unresolved import UnresolvedAttribute, UnresolvedFunction
from ..model.output_modes import OutputMode
from ..model.plans.logical import EventTimeWatermark, Project
from ..model.plans.python_operators import (
    FlatMapCoGroupsInPython,
    FlatMapGroupsInPandasWithState,
    FlatMapGroupsInPython,
    MapInPython,
    TransformWithStateInPySpark,
    UpdateEventTimeColumn,
)
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import LocalRelation
from ..model.schemas.types import BYTE, DOUBLE, INT, STRING, ArrayType, StructField, StructType
from ..model.text.text import plan_text
from ..model.tree import replace
from .failures import unsupported
from .places import Message
from .types import attributes_of, from_proto, read_schema

if TYPE_CHECKING:
    from .relations import RelationReader

_TYPES = PythonEvalType
_PICKLED = (_TYPES.SQL_BATCHED_UDF,)
_AGGREGATES = (
    _TYPES.SQL_GROUPED_AGG_PANDAS_UDF,
    _TYPES.SQL_GROUPED_AGG_ARROW_UDF,
    _TYPES.SQL_GROUPED_AGG_PANDAS_ITER_UDF,
    _TYPES.SQL_GROUPED_AGG_ARROW_ITER_UDF,
)
_ARROW = (
    _TYPES.SQL_MAP_ARROW_ITER_UDF,
    _TYPES.SQL_GROUPED_MAP_ARROW_UDF,
    _TYPES.SQL_GROUPED_MAP_ARROW_ITER_UDF,
    _TYPES.SQL_COGROUPED_MAP_ARROW_UDF,
)
_ROWS = (
    _TYPES.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF,
    _TYPES.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_INIT_STATE_UDF,
)
_TIMEOUTS = ("NoTimeout", "ProcessingTimeTimeout", "EventTimeTimeout")
_TIME_MODES = {"none": "NoTime", "processingtime": "ProcessingTime", "eventtime": "EventTime"}


def call_of(
    message: Message,
    arguments: tuple[Expression, ...],
    names: tuple[str, ...],
    origin: Origin | None,
) -> Expression:
    """A call in an expression, of a function by `udf` or `pandas_udf`.

    `names` are those that arguments are given by, "" for one by position.
    """
    number = message.python_udf.eval_type
    kind: EvalKind = "batched" if number in _PICKLED else "arrow"
    aggregates = number in _AGGREGATES
    call = replace(
        _call(message, arguments),
        names=names if any(names) else (),
        kind="grouped aggregate" if aggregates else kind,
        origin=origin,
    )
    return AggregateExpression(function=call, origin=origin) if aggregates else call


def map_partitions(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`mapInPandas` and `mapInArrow`."""
    child = reader.child(message.input)
    return MapInPython(
        child=child,
        function=_function(message.func, child.output),
        attributes=_returned(message.func),
        arrow=message.func.python_udf.eval_type in _ARROW,
        barrier=message.is_barrier,
        origin=origin,
    )


def group_map(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`applyInPandas`, `applyInArrow`, `transformWithState` and `transformWithStateInPandas`."""
    child = reader.child(message.input)
    keys = reader.expressions.read_all(message.grouping_expressions)
    if message.HasField("transform_with_state_info"):
        return _transform_with_state(reader, message, child, keys, origin)
    grouped, count = _grouped(reader, child, [_aliased(key) for key in keys])
    return FlatMapGroupsInPython(
        child=grouped,
        grouping=grouped.output[:count],
        function=_function(message.func, child.output),
        attributes=_returned(message.func),
        arrow=message.func.python_udf.eval_type in _ARROW,
        origin=origin,
    )


def co_group_map(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`cogroup(...).applyInPandas` and `applyInArrow`.

    Raises:
        AnalysisError: the two sides are grouped by other numbers of keys.
    """
    left, right = reader.child(message.input), reader.child(message.other)
    read = reader.expressions.read_all
    one, count = _grouped(reader, left, map(_aliased, read(message.input_grouping_expressions)))
    other, right_count = _grouped(
        reader, right, map(_aliased, read(message.other_grouping_expressions))
    )
    if count != right_count:
        raise AnalysisError(
            None,
            f"requirement failed: Cogroup keys must have same size: {count} != {right_count}",
            hint="Group both sides by as many keys.",
        )
    return FlatMapCoGroupsInPython(
        left=one,
        right=other,
        left_count=count,
        right_count=right_count,
        function=_function(message.func, (*left.output, *right.output)),
        attributes=_returned(message.func),
        arrow=message.func.python_udf.eval_type in _ARROW,
        origin=origin,
    )


def apply_in_pandas_with_state(
    reader: RelationReader, message: Message, origin: Origin | None
) -> LogicalPlan:
    """`applyInPandasWithState`.

    Raises:
        AnalysisError: an output mode or timeout that there is not.
    """
    child = reader.child(message.input)
    mode = _output_mode(message.output_mode)
    if mode == "complete":
        raise AnalysisError(
            None,
            "The output mode of function should be append or update",
            hint="Give 'append' or 'update'.",
        )
    if message.timeout_conf not in _TIMEOUTS:
        raise AnalysisError(None, "", hint=f"The timeout is one of {', '.join(_TIMEOUTS)}.")
    keys = reader.expressions.read_all(message.grouping_expressions)
    return FlatMapGroupsInPandasWithState(
        child=child,
        function=_function(message.func, child.output),
        grouping=tuple(map(_named, keys)),
        attributes=attributes_of(read_schema(message.output_schema)),
        state_type=read_schema(message.state_schema),
        output_mode=mode,
        timeout=message.timeout_conf,
        origin=origin,
    )


def _transform_with_state(
    reader: RelationReader,
    message: Message,
    child: LogicalPlan,
    keys: Iterable[Expression],
    origin: Origin | None,
) -> LogicalPlan:
    info = message.transform_with_state_info
    time_mode = _TIME_MODES.get(info.time_mode.lower())
    mode = _output_mode(message.output_mode)
    if time_mode is None:
        raise AnalysisError.of("STATEFUL_PROCESSOR_UNKNOWN_TIME_MODE", timeMode=info.time_mode)
    grouped, count = _grouped(reader, child, map(_named, keys))
    initial: LogicalPlan = LocalRelation(attributes=())
    initial_count, initial_type = 0, StructType(())
    if message.HasField("initial_input"):
        given = reader.child(message.initial_input)
        initial_keys = reader.expressions.read_all(message.initial_grouping_expressions)
        initial, initial_count = _grouped(reader, given, map(_named, initial_keys))
        initial_type = given.schema
    output = from_proto(info.output_schema)
    assert isinstance(output, StructType)
    number = message.func.python_udf.eval_type
    plan: LogicalPlan = TransformWithStateInPySpark(
        child=grouped,
        initial_state=initial,
        key_count=count,
        initial_key_count=initial_count,
        initial_type=initial_type,
        function=_function(message.func, child.output),
        attributes=attributes_of(output),
        output_mode=mode,
        time_mode=time_mode,
        rows="python_row" if number in _ROWS else "pandas",
        origin=origin,
    )
    if info.event_time_column_name:
        plan = _with_event_time(plan, info.event_time_column_name, child, origin)
    return plan


def _with_event_time(
    plan: LogicalPlan, name: str, child: LogicalPlan, origin: Origin | None
) -> LogicalPlan:
    watermark = next((p for p in child.walk() if isinstance(p, EventTimeWatermark)), None)
    if watermark is None:
        raise AnalysisError.of("CANNOT_ASSIGN_EVENT_TIME_COLUMN_WITHOUT_WATERMARK")
    return UpdateEventTimeColumn(
        child=plan,
        event_time=UnresolvedAttribute(parts=(name,), origin=origin),
        delay_ms=watermark.delay_ms,
        delay_text=watermark.delay_text,
        origin=origin,
    )


def _output_mode(text: str) -> OutputMode:
    match text.lower():
        case "append" | "update" | "complete" as mode:
            return mode
        case _:
            raise AnalysisError.of("STREAMING_OUTPUT_MODE.INVALID", outputMode=text)


def _function(message: Message, columns: tuple[AttributeReference, ...]) -> PythonUDF:
    """An operator's function: it gets all columns of the input."""
    if message.WhichOneof("function") != "python_udf":
        raise unsupported(f"The Scala or Java function {message.function_name}()")
    return _call(message, columns)


def _call(message: Message, arguments: tuple[Expression, ...]) -> PythonUDF:
    sent = message.python_udf
    return PythonUDF(
        function_name=message.function_name,
        type_=from_proto(sent.output_type),
        arguments=arguments,
        exact_kind=sent.eval_type,
        # What distinguishes functions, and what runs one: the pickled function is the last.
        options=(message.function_name, sent.eval_type, sent.command),
        is_deterministic=message.deterministic,
    )


def _returned(message: Message) -> tuple[AttributeReference, ...]:
    output = from_proto(message.python_udf.output_type)
    if not isinstance(output, StructType):
        raise unsupported(f"A function that returns {output.simple} as rows")
    return attributes_of(output)


def _grouped(
    reader: RelationReader, child: LogicalPlan, keys: Iterable[Expression]
) -> tuple[LogicalPlan, int]:
    """The input with its keys before its columns, analyzed; and how many keys there are."""
    keys = tuple(keys)
    project = Project(child=child, project_list=(*keys, *child.output))
    return reader.staged(project), len(keys)


def _aliased(key: Expression) -> Expression:
    """A key with a name: Spark names a computed one by its text."""
    if isinstance(key, Alias | AttributeReference | UnresolvedAttribute):
        return key
    return Alias(child=key, name=_text(key))


def _named(key: Expression) -> Expression:
    """A key by its name alone: only columns of the input can be keys of Python's state."""
    if isinstance(key, AttributeReference | UnresolvedAttribute):
        return key
    name = key.name if isinstance(key, Alias) else _text(key)
    return UnresolvedAttribute(parts=(name,), origin=key.origin)


def _text(key: Expression) -> str:
    """A key's text as classic PySpark makes it, which writes a window's slide and start out."""
    match key:
        case UnresolvedFunction(name="window", arguments=(time, Literal() as size)):
            key = replace(key, arguments=(time, size, size, lit("0 second")))
    return plan_text(key)


# ------------------------------------------------------------------------ Scala and Java


# A vector of MLlib as Spark keeps it.
VECTOR = StructType(
    (
        StructField("type", BYTE, False),
        StructField("size", INT, True),
        StructField("indices", ArrayType(INT, False), True),
        StructField("values", ArrayType(DOUBLE, False), True),
    )
)
# Spark's are functions without a name that only MLlib knows.
VECTOR_FUNCTIONS = {"vector_to_array": ArrayType(DOUBLE, False), "array_to_vector": VECTOR}


def vector_call(name: str, arguments: tuple[Expression, ...], origin: Origin | None) -> Expression:
    """`vector_to_array(column)` and `array_to_vector(column)`."""
    return ScalaUDF(type_=VECTOR_FUNCTIONS[name], arguments=arguments[:1], origin=origin)


def scala_call(
    message: Message, arguments: tuple[Expression, ...], origin: Origin | None
) -> Expression:
    """A call whose code came with it: only its type matters to a plan.

    A type as text is a struct's, of the columns that the code uses where it is a placeholder.
    """
    sent = message.scalar_scala_udf
    written = sent.outputType.WhichOneof("kind") == "unparsed"
    text = sent.outputType.unparsed.data_type_string
    return ScalaUDF(
        function_name=message.function_name,
        type_=read_schema(text) if written else from_proto(sent.outputType),
        may_be_null=sent.nullable,
        is_deterministic=message.deterministic,
        arguments=arguments,
        origin=origin,
    )


def unknown_call(function: UnresolvedFunction) -> Expression:
    """A call of a function that only a cluster's catalog knows, taken to give a text."""
    return ScalaUDF(
        function_name=function.name,
        type_=STRING,
        arguments=function.arguments,
        origin=function.origin,
    )
