"""The buffers of aggregate functions as Spark stores them, and as we do.

Most are the same columns. Where we keep lists instead of serialised objects, one list of registers
instead of fifty numbers, or no note whether there was a value, they are converted here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...planner.model.errors import RuntimeFailure
from ...planner.model.expressions.core import SortOrder
from ...planner.model.registry import AggregateForms
from ...planner.model.schemas.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    StructField,
    StructType,
)
from ..kernels.columns.lists import rows_of
from ..kernels.columns.texts import bytes_of
from ..plan.specs import BufferedFunction
from . import objects
from .unsafe_reading import read_rows, stored_type
from .unsafe_writing import write_rows

Columns = list[Any]
_BYTES = pa.list_(pa.field("element", pa.int8()))
_OF_COUNTS = ("percentile", "percentile_disc", "mode")
"""How many buffers we keep of the slope and the intercept of a regression."""
_REGISTERS, _BITS = 10, 6
"""How many registers of how many bits a word of approx_count_distinct has."""


def taken_buffers(functions: Sequence[BufferedFunction], columns: Sequence[Any]) -> Columns:
    """Our buffers of some functions, from Spark's.

    Raises:
        RuntimeFailure: Spark's buffers of a function are not known here.
    """
    found: Columns = []
    place = 0
    for function in functions:
        taken, _ = _conversion(function)
        width = len(function.forms.plan_buffers)
        found += taken(list(columns[place : place + width]))
        place += width
    return found


def given_buffers(functions: Sequence[BufferedFunction], columns: Sequence[Any]) -> Columns:
    """Spark's buffers of some functions, from ours; see `taken_buffers`."""
    found: Columns = []
    place = 0
    for function in functions:
        _, given = _conversion(function)
        width = len(function.buffers)
        found += given(list(columns[place : place + width]))
        place += width
    return found


Conversion = tuple[Callable[[Columns], Columns], Callable[[Columns], Columns]]


def _conversion(function: BufferedFunction) -> Conversion:
    """What makes our buffers of Spark's, and what makes Spark's of ours."""
    forms = function.forms
    own = [buffer.data_type for buffer in forms.buffers]
    theirs = [buffer.data_type for buffer in forms.plan_buffers]
    operation = forms.merges[0].operation
    of_object = _of_object(function, own)
    if of_object is not None:
        return of_object
    match own, theirs:
        case [ArrayType()], [LongType(), *_] if operation == "registers":
            return _taken_registers, lambda c: _given_registers(c[0], len(theirs))
        case [kind], [same, flag] if kind == same and flag == BOOLEAN:
            return _without_flag, _with_flag
    plain = BINARY not in own or (forms.start is None and forms.finish is None)
    if plain and _alike(own, theirs):
        counter = _counter(forms)
        if counter is None:
            return (lambda c: _cast(c, own)), (lambda c: _cast(c, theirs))
        return (
            lambda c: _without_values(_cast(c, own), counter, _null),
            lambda c: _cast(_without_values(c, counter, _zero), theirs),
        )
    raise RuntimeFailure(
        "STATEPLAN_STATE_NOT_CONVERTED",
        f"The state of the aggregate function `{function.aggregate.function.name}` has a form of "
        "its own in Spark, which is not converted.",
        hint="Leave the function out, or start the query with a new checkpoint.",
    )


def _of_object(function: BufferedFunction, own: Sequence[DataType]) -> Conversion | None:
    """The conversion of a buffer that Spark keeps as an object, if it is known."""
    forms, kind = function.forms, own[0]
    finish, constants = (
        ("", ()) if forms.finish is None else (forms.finish.kernel, forms.finish.constants)
    )
    match forms.merges[0].operation, kind:
        case "quantiles", ArrayType():
            assert forms.start is not None
            accuracy = _number(forms.start.constants[0])
            return _one(objects.take_quantiles, lambda c: objects.give_quantiles(c, accuracy))
        case "counts", ArrayType() if finish in _OF_COUNTS:
            return _one(
                lambda c: objects.take_counts(c, kind), lambda c: objects.give_counts(c, kind)
            )
        case "histograms", ArrayType():
            most = _number(forms.merges[0].constants[0])
            return _one(
                lambda c: objects.take_histogram(c, kind),
                lambda c: objects.give_histogram(c, most),
            )
        case "least_hashes", ArrayType():
            size = _number(forms.merges[0].constants[0])
            return _one(
                lambda c: objects.take_theta(c, stored_type(kind), size),
                lambda c: objects.give_theta(c, size),
            )
        case "top", ArrayType():
            several = _number(forms.merges[0].constants[0])
            return (
                lambda c: [objects.take_heap(c, kind)],
                lambda c: objects.give_heap(c[0], several),
            )
        case "bytes_or" | "bytes_and", _:
            empty = _number(constants[0])
            return _one(lambda c: c, lambda c: objects.give_bitmap(c, empty))
        case "hll_sketches", _:
            return _one(lambda c: c, lambda c: c)
        case "regression", _:
            return _regression
        case "concat" | "union", ArrayType(element_type=element):
            return _collected(function, element)
    return None


def _number(constant: object) -> int:
    assert isinstance(constant, int)
    return constant


def _one(taken: Callable[[Any], Any], given: Callable[[Any], Any]) -> Conversion:
    """The conversion of one column."""
    return (lambda c: [taken(c[0])]), (lambda c: [given(c[0])])


def _collected(function: BufferedFunction, element: DataType) -> Conversion:
    """Of values in a list, which Spark keeps as an array of their type."""
    kind = ArrayType(element)
    match function.aggregate.function.name, element:
        case "collect_set", BinaryType():  # there binary values are arrays of their bytes
            kind = ArrayType(ArrayType(BYTE))
            return _one(
                lambda c: _cast_lists(_read_list(c, kind), _as_binary, pa.binary()),
                lambda c: _written_list(_cast_lists(c, _as_bytes, _BYTES), kind),
            )
        case "listagg" | "string_agg", StructType(fields=(value, order)) if _by_itself(function):
            kind = ArrayType(value.data_type)
            pair = pa.struct([pa.field(f.name, stored_type(f.data_type)) for f in (value, order)])
            return _one(
                lambda c: _cast_lists(_read_list(c, kind), lambda v: _twice(v, pair), pair),
                lambda c: _written_list(
                    _cast_lists(c, lambda v: pc.struct_field(v, [0]), pair[0].type), kind
                ),
            )
    return _one(lambda c: _read_list(c, kind), lambda c: _written_list(c, kind))


def _by_itself(function: BufferedFunction) -> bool:
    """Whether a list is ordered by its own values, which Spark keeps once then."""
    value, _, *order = function.aggregate.function.arguments
    return len(order) == 1 and isinstance(order[0], SortOrder) and order[0].child == value


def _alike(own: Sequence[DataType], theirs: Sequence[DataType]) -> bool:
    """Whether buffers differ in nothing but the width of whole numbers."""
    if len(own) != len(theirs):
        return False
    pairs = [(stored_type(one), stored_type(other)) for one, other in zip(own, theirs, strict=True)]
    return all(a == b or (pa.types.is_integer(a) and pa.types.is_integer(b)) for a, b in pairs)


def _cast(columns: Columns, types: Sequence[DataType]) -> Columns:
    return [c.cast(stored_type(kind)) for c, kind in zip(columns, types, strict=True)]


# ----------------------------------------------------------------- buffers that have seen no value


_TELLING = ("count", "n", "isEmpty")


def _counter(forms: AggregateForms) -> int | None:
    """Which of several buffers says that no value was seen: Spark has zeros then, we nulls."""
    names = [buffer.name for buffer in forms.buffers]
    return next((i for i, n in enumerate(names) if n in _TELLING and len(names) > 1), None)


def _without_values(columns: Columns, counter: int, fill: Callable[[Any], Any]) -> Columns:
    """The columns with what `fill` gives of a type, where no value has been seen."""
    seen = columns[counter]
    none = seen if pa.types.is_boolean(seen.type) else pc.equal(seen, _zero(seen.type))
    return [c if i == counter else pc.if_else(none, fill(c.type), c) for i, c in enumerate(columns)]


def _null(kind: Any) -> Any:
    return pa.scalar(None, kind)


def _zero(kind: Any) -> Any:
    return pa.scalar(0, pa.int64()).cast(kind)


def _without_flag(columns: Columns) -> Columns:
    """A sum: null before its first value."""
    total, empty = columns
    return [pc.if_else(empty, _null(total.type), total)]


def _with_flag(columns: Columns) -> Columns:
    """A sum and whether it is empty; then it is zero."""
    (total,) = columns
    return [pc.coalesce(total, _zero(total.type)), pc.is_null(total)]


# ------------------------------------------------------------------------------------ regression


def _take_regression(columns: Columns) -> Columns:
    """A covariance and the variance of its first side, which is our second one.

    The other side's variance, which nobody asks for, is not there.
    """
    count, first, second, product, _, _, moment = columns
    ours = [count, second, first, product, pa.array(np.zeros(len(moment))), moment]
    return _without_values(ours, 0, _null)


def _give_regression(columns: Columns) -> Columns:
    count, second, first, product, _, moment = _without_values(columns, 0, _zero)
    return [count, first, second, product, count, first, moment]


_regression: Conversion = (_take_regression, _give_regression)


# --------------------------------------------------------------------------- lists and registers


def _cast_lists(lists: Any, made: Callable[[Any], Any], element: Any) -> Any:
    """Lists of other elements, made of theirs."""
    whole = pa.concat_arrays([pc.coalesce(lists, pa.scalar([], lists.type))])
    kind = pa.list_(pa.field("element", element))
    return pa.ListArray.from_arrays(whole.offsets, made(whole.values), type=kind)


def _as_binary(lists: Any) -> Any:
    data = pa.concat_arrays([lists])
    buffers = [None, data.offsets.buffers()[1], data.values.buffers()[1]]
    return pa.Array.from_buffers(pa.binary(), len(data), buffers)


def _as_bytes(values: Any) -> Any:
    content, ends = bytes_of(values)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(content.view(np.int8)), type=_BYTES)


def _twice(values: Any, pair: Any) -> Any:
    return pa.StructArray.from_arrays([values, values], fields=list(pair))


def _list_schema(kind: ArrayType) -> StructType:
    """What Spark serialises of a list: a row of one array."""
    return StructType((StructField("values", kind),))


def _read_list(column: Any, kind: ArrayType) -> Any:
    (lists,) = read_rows(column.to_pylist(), _list_schema(kind))
    return lists


def _written_list(column: Any, kind: ArrayType) -> Any:
    full = pc.coalesce(column, pa.scalar([], column.type))
    return pa.array(write_rows([full], _list_schema(kind), len(full)), pa.binary())


def _taken_registers(columns: Columns) -> Columns:
    """Lists of `index * 64 + rank` from words of ten ranks each."""
    words = np.stack([column.to_numpy() for column in columns], axis=1)
    shifts = np.arange(_REGISTERS) * _BITS
    ranks = (words[:, :, None] >> shifts & (1 << _BITS) - 1).reshape(len(words), -1)
    rows, indices = np.nonzero(ranks)
    values = (indices << _BITS | ranks[rows, indices]).astype(np.int32)
    offsets = np.searchsorted(rows, np.arange(len(words) + 1)).astype(np.int32)
    kind = pa.list_(pa.field("element", pa.int32()))
    return [pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), type=kind)]


def _given_registers(column: Any, words: int) -> Columns:
    offsets = column.offsets.to_numpy()
    sizes = np.diff(offsets)
    values = column.values.to_numpy()[offsets[0] : offsets[-1]].astype(np.int64)
    rows = rows_of(sizes)
    indices, ranks = values >> _BITS, values & (1 << _BITS) - 1
    found = np.zeros((len(sizes), words), np.int64)
    # Every register stands once in a list: its bits are there for nobody else.
    np.bitwise_or.at(found, (rows, indices // _REGISTERS), ranks << indices % _REGISTERS * _BITS)
    return [pa.array(found[:, i]) for i in range(words)]
