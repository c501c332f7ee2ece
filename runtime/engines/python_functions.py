"""Operators that run the user's Python functions without state.

PySpark's client sends a function pickled; here it goes to PySpark's own API for it. The function of
an operator sees the columns under the names that the query has for them.
"""

from __future__ import annotations

import functools
import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...physical.aggregate import result_column
from ...physical.python_operators import (
    AggregateInPythonExec,
    Attributes,
    EvalPythonExec,
    FlatMapCoGroupsInPythonExec,
    FlatMapGroupsInPythonExec,
    MapInPythonExec,
)
from ...planner.model.expressions.core import Alias, AttributeReference, Expression, to_attribute
from ...planner.model.expressions.python_functions import PythonUDF
from ...planner.model.schemas.types import StructField, StructType
from ...planner.model.settings.conf import Conf
from ...planner.model.text.spark_sql import quote
from ..arrow_types import arrow_schema, column_name, column_names
from ..frames import schema_json, schema_of, spark_schema
from ..plan.nodes import CallPython, CallPythonOnGroups
from .as_is import Frames, run_as_is
from .python_calls import TIME_ZONE, GivenColumns, PythonCall, PythonCalls
from .python_groups import GroupedRows, PythonGroups
from .render import render, sql_of
from .user_state import command_of

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

    from .batch import Batch

Function = Callable[..., Any]


def unpickled(call: PythonUDF) -> tuple[Function, Any]:
    """A call's function, and the type that it was declared with, as the client sent them.

    Raises:
        RuntimeFailure: the call was made without a client, so there is no function.
    """
    from pyspark.serializers import CloudPickleSerializer

    command = command_of(call)
    function, data_type = CloudPickleSerializer().loads(command)  # type: ignore[no-untyped-call]
    return function, data_type


# ---------------------------------------------------------------------------------- in expressions


@run_as_is.register(EvalPythonExec)
def _(node: EvalPythonExec, inputs: Frames, batch: Batch) -> DataFrame:
    made = (
        _column(call).alias(column_name(result))
        for call, result in zip(node.functions, node.results, strict=True)
    )
    return inputs[0].select("*", *made)


def _column(expression: Expression) -> SparkColumn:
    """An argument; calls of like functions within each other run together."""
    from pyspark.sql import functions as F

    if not isinstance(expression, PythonUDF):
        return F.expr(sql_of(expression))
    arguments = list(map(_column, expression.arguments))
    names = expression.names or ("",) * len(arguments)
    by_place = [column for name, column in zip(names, arguments, strict=True) if not name]
    by_name = {name: column for name, column in zip(names, arguments, strict=True) if name}
    result: SparkColumn = _user_function(expression)(*by_place, **by_name)
    return result


def _user_function(call: PythonUDF) -> Any:
    from pyspark.sql import functions
    from pyspark.util import PythonEvalType

    function, data_type = unpickled(call)
    F: Any = functions
    kind: Any = call.exact_kind
    with warnings.catch_warnings():
        # That a kind is given, not found in type hints.
        warnings.simplefilter("ignore", UserWarning)
        match kind:
            case PythonEvalType.SQL_BATCHED_UDF | PythonEvalType.SQL_ARROW_BATCHED_UDF:
                arrow = kind == PythonEvalType.SQL_ARROW_BATCHED_UDF
                made = F.udf(function, data_type, useArrow=arrow)
            case PythonEvalType.SQL_SCALAR_ARROW_UDF | PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF:
                made = F.arrow_udf(function, data_type, kind)
            case _:
                made = F.pandas_udf(function, data_type, kind)
    return made if call.is_deterministic else made.asNondeterministic()


# ------------------------------------------------------------------------------- in this process


@render.register(CallPython)
def _(node: CallPython, batch: Batch) -> DataFrame:
    rows = node.child.output
    arguments: dict[int, AttributeReference] = {}

    def place(attribute: AttributeReference) -> int:
        arguments.setdefault(attribute.expr_id, attribute)
        return list(arguments).index(attribute.expr_id)

    def call(outer: PythonUDF) -> PythonCall:
        chain = [outer]
        while isinstance(
            inner := chain[-1].arguments[0] if chain[-1].arguments else None, PythonUDF
        ):
            chain.append(inner)
        given = [a for a in chain[-1].arguments if isinstance(a, AttributeReference)]
        return PythonCall(
            commands=tuple(command_of(one) for one in reversed(chain)),
            places=tuple(map(place, given)),
            names=chain[-1].names or ("",) * len(given),
        )

    if node.over_partitions:
        (function,) = node.functions
        arguments.update((a.expr_id, a) for a in function.columns)
        calls = [PythonCall(commands=(command_of(function),), places=(0,), names=("",))]
    else:
        calls = [call(function) for function in node.functions]
    ids = [a.expr_id for a in rows]
    named = enumerate(arguments.values())
    fields = (
        StructField(a.name if node.over_partitions else f"_{i}", a.data_type) for i, a in named
    )
    made = PythonCalls(
        kind=node.functions[0].exact_kind,
        calls=tuple(calls),
        given=GivenColumns(
            places=tuple(ids.index(id_) for id_ in arguments),
            schema=_schema_text(fields),
        ),
        declared=tuple(a.data_type.simple for a in node.results),
        output=arrow_schema(node.results),
        names=tuple(column_names(rows)),
        over_partitions=node.over_partitions,
        settings=_worker_settings(batch.context.conf),
    )
    return batch.engine.call_python(render(node.child, batch), made, schema_of(node.output))


@render.register(CallPythonOnGroups)
def _(node: CallPythonOnGroups, batch: Batch) -> DataFrame:
    sides, places = [], []
    for rows, keys, given in zip(node.inputs, node.keys, node.given, strict=True):
        side, own = _grouped_rows(rows.output, keys, given)
        sides.append(side)
        places += own
    function = PythonCall(
        commands=(command_of(node.function),), places=tuple(places), names=("",) * len(places)
    )
    calls = PythonGroups(
        kind=node.function.exact_kind,
        calls=(function,),
        declared=tuple(a.data_type.simple for a in node.results),
        output=arrow_schema(node.results),
        settings=_worker_settings(batch.context.conf),
        sides=tuple(sides),
        placing=node.placing,
        partitions=node.partitions,
        together=node.together,
    )
    frames = [render(rows, batch) for rows in node.inputs]
    return batch.engine.call_python_on_groups(frames, calls, schema_of(node.output))


def _grouped_rows(
    columns: Attributes, keys: Attributes, given: Attributes
) -> tuple[GroupedRows, list[int]]:
    """The columns of an input that the worker gets, and the numbers that tell it which is which.

    Keys that are not among the function's columns are sent before these. The numbers are: how many
    follow, how many keys there are, the places of the keys, and those of the function's columns
    (Spark's PandasGroupUtils.resolveArgOffsets).
    """
    ids, names = [a.expr_id for a in columns], [a.expr_id for a in given]
    sent = (*(key for key in keys if key.expr_id not in names), *given)
    places = [a.expr_id for a in sent]
    values = range(len(sent) - len(given), len(sent))
    found = [*(places.index(key.expr_id) for key in keys), *values]
    rows = GroupedRows(
        keys=tuple(ids.index(key.expr_id) for key in keys),
        given=GivenColumns(
            places=tuple(map(ids.index, places)),
            schema=_schema_text(StructField(a.name, a.data_type) for a in sent),
        ),
    )
    return rows, [len(found) + 1, len(keys), *found]


def _schema_text(fields: Iterable[StructField]) -> str:
    return json.dumps(schema_json(StructType(tuple(fields))))


_WORKER_SETTINGS = tuple(
    f"spark.sql.{name}"
    for name in (
        "execution.arrow.maxRecordsPerBatch",
        "execution.arrow.useLargeVarTypes",
        "execution.pandas.convertToArrowArraySafely",
        "execution.pyspark.binaryAsBytes",
        "execution.pythonUDF.arrow.concurrency.level",
        "execution.pythonUDF.pandas.intToDecimalCoercionEnabled",
        "execution.pythonUDF.pandas.preferIntExtensionDtype",
        "legacy.execution.pandas.groupedMap.assignColumnsByName",
        "legacy.execution.pythonUDF.pandas.conversion.enabled",
    )
)
"""The settings of a query that PySpark's worker is given; the rest are its own defaults."""


def _worker_settings(conf: Conf) -> dict[str, str]:
    given = {name: conf.settings[name] for name in _WORKER_SETTINGS if name in conf.settings}
    return {**given, TIME_ZONE: conf.time_zone}


# ----------------------------------------------------------------------------------- as operators


@run_as_is.register(MapInPythonExec)
def _(node: MapInPythonExec, inputs: Frames, batch: Batch) -> DataFrame:
    function, _ = unpickled(node.function)
    rows = inputs[0].selectExpr(*_under_their_names(node.function.columns))
    run = rows.mapInArrow if node.arrow else rows.mapInPandas
    return _renamed(run(function, _schema(node.attributes), node.barrier), node.attributes)


@run_as_is.register(FlatMapGroupsInPythonExec)
def _(node: FlatMapGroupsInPythonExec, inputs: Frames, batch: Batch) -> DataFrame:
    grouped, hidden = _grouped(inputs[0], node.keys, node.function.columns)
    function = _without(unpickled(node.function)[0], [hidden], arrow=node.arrow)
    run = grouped.applyInArrow if node.arrow else grouped.applyInPandas
    return _renamed(run(function, _schema(node.attributes)), node.attributes)


@run_as_is.register(AggregateInPythonExec)
def _(node: AggregateInPythonExec, inputs: Frames, batch: Batch) -> DataFrame:
    made = [
        _column(aggregate.function).alias(column_name(result_column(aggregate)))
        for aggregate in node.aggregates
    ]
    keys = [column_name(to_attribute(key)) for key in node.keys]
    groups = inputs[0].groupBy(*keys).agg(*made)
    bare = (result.child if isinstance(result, Alias) else result for result in node.results)
    named = zip(bare, node.output, strict=True)
    return groups.selectExpr(*(f"{sql_of(e)} AS {column_name(a)}" for e, a in named))


@run_as_is.register(FlatMapCoGroupsInPythonExec)
def _(node: FlatMapCoGroupsInPythonExec, inputs: Frames, batch: Batch) -> DataFrame:
    sides = zip(inputs, node.keys_by_child, node.given_by_child, strict=True)
    (left, left_hidden), (right, right_hidden) = (_grouped(*side) for side in sides)
    function = _without(unpickled(node.function)[0], [left_hidden, right_hidden], arrow=node.arrow)
    both = left.cogroup(right)
    run = both.applyInArrow if node.arrow else both.applyInPandas
    return _renamed(run(function, _schema(node.attributes)), node.attributes)


def _under_their_names(columns: Attributes) -> list[str]:
    return [f"{column_name(a)} AS {quote(a.name)}" for a in columns]


def _schema(attributes: Attributes) -> Any:
    return spark_schema(
        StructType(tuple(StructField(a.name, a.data_type, a.nullable) for a in attributes))
    )


def _renamed(frame: DataFrame, attributes: Attributes) -> DataFrame:
    return frame.toDF(*(column_name(a) for a in attributes))


def _grouped(frame: DataFrame, keys: Attributes, columns: Attributes) -> tuple[Any, list[str]]:
    """The rows by their keys; and the columns of keys that the function knows nothing about."""
    names = {a.expr_id: a.name for a in columns}
    hidden = [key for key in keys if key.expr_id not in names]
    more = [column_name(key) for key in hidden]
    rows = frame.selectExpr(*_under_their_names(columns), *more)
    by = (names.get(key.expr_id, column_name(key)) for key in keys)
    return rows.groupBy(*map(quote, by)), more


def _without(function: Function, hidden: Sequence[list[str]], *, arrow: bool) -> Function:
    """A function that gets its groups' rows, the last of its arguments, without some columns."""
    if not any(hidden):
        return function
    parameters = inspect.getfullargspec(function).args
    with_key = len(parameters) > len(hidden)

    def cut(rows: Any, names: list[str]) -> Any:
        if hasattr(rows, "__next__"):  # the parts of a group one after the other
            return (cut(part, names) for part in rows)
        return rows.drop_columns(names) if arrow else rows.drop(columns=names)

    # PySpark counts the parameters: with one more than there are sides, the first is the key.
    def one(rows: Any) -> Any:
        return function(cut(rows, hidden[0]))

    def one_by_key(key: Any, rows: Any) -> Any:
        return function(key, cut(rows, hidden[0]))

    def two(left: Any, right: Any) -> Any:
        return function(cut(left, hidden[0]), cut(right, hidden[1]))

    def two_by_key(key: Any, left: Any, right: Any) -> Any:
        return function(key, cut(left, hidden[0]), cut(right, hidden[1]))

    several = len(hidden) > 1
    if with_key:
        return functools.wraps(function)(two_by_key if several else one_by_key)
    return functools.wraps(function)(two if several else one)
