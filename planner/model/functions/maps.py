"""Functions of maps, and `element_at`, which arrays have too."""

from __future__ import annotations

from ..errors import AnalysisError
from ..expressions.core import Call, Expression
from ..registry import FunctionSpec, Show, register
from ..schemas.types import (
    BOOLEAN,
    INT,
    LONG,
    STRING,
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)
from ..settings.conf import Conf
from ..text.quoting import to_sql_type
from ..tree import replace
from .access import element_type
from .build import array_of, map_of
from .coercion import cast_to, coerce_to_common, wider_without_strings
from .collections import element_of, merged, null_or_holds_null
from .mismatch import function_mismatch, require_count, type_names, unexpected_type
from .shapes import like_call, scalar, with_arguments


def _sorted_sql(call: Call, show: Show) -> str:
    """A map in the order of its keys; Spark's sort makes zeros of null values in Java's types."""
    order = "(a, b) -> CASE WHEN a.key < b.key THEN -1 WHEN a.key > b.key THEN 1 ELSE 0 END"
    ordered = f"map_from_entries(array_sort(map_entries({show(call.arguments[0])}), {order}))"
    kind = map_of(call.arguments[0])
    zero = _zero_sql(kind.value_type)
    if zero is None or not kind.value_contains_null:
        return ordered
    return f"transform_values({ordered}, (k, v) -> coalesce(v, {zero}))"


def _zero_sql(data_type: DataType) -> str | None:
    """What a null is where Java has no null of its type; None: it has one."""
    match data_type:
        case BooleanType():
            zero = "false"
        case IntegralType() | FloatType() | DoubleType():
            zero = "0"
        case DateType():
            zero = "DATE '1970-01-01'"
        case TimestampType():
            zero = "timestamp_micros(0)"
        case TimestampNTZType():
            zero = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
        case DayTimeIntervalType():
            zero = "make_dt_interval()"
        case YearMonthIntervalType():
            zero = "make_ym_interval()"
        case _:
            return None
    return f"CAST({zero} AS {data_type.simple})"


def _keys(call: Call) -> DataType:
    return ArrayType(map_of(call.arguments[0]).key_type, True)


def _values(call: Call) -> DataType:
    kind = map_of(call.arguments[0])
    return ArrayType(kind.value_type, kind.value_contains_null)


def _entries(call: Call) -> DataType:
    kind = map_of(call.arguments[0])
    fields = (
        StructField("key", kind.key_type, False),
        StructField("value", kind.value_type, kind.value_contains_null),
    )
    return ArrayType(StructType(fields), False)


def _check_element_at(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    base, key = call.arguments
    match base.data_type:
        case ArrayType():
            if isinstance(key.data_type, IntegralType) and key.data_type != LONG:
                return with_arguments(call, (base, cast_to(key, INT, conf)))
            raise unexpected_type(call, 1, '"INT"')
        case MapType():
            return _with_key(call, conf)
        case _:
            shown = replace(call, name="element_at")  # what try_element_at is
            raise unexpected_type(shown, 0, '("ARRAY" or "MAP")')


def _with_key(call: Call, conf: Conf) -> Expression:
    """`f(map, key)`, the key at a type that the map's keys have, too."""
    mapping, key = call.arguments
    assert isinstance(mapping.data_type, MapType)
    common = wider_without_strings(mapping.data_type.key_type, key.data_type, conf)
    if common is None:
        raise _bad_key(call)
    return with_arguments(call, (mapping, cast_to(key, common, conf)))


def _bad_key(call: Call) -> AnalysisError:
    left, right = (to_sql_type(a.data_type) for a in call.arguments)
    return function_mismatch(
        "MAP_FUNCTION_DIFF_TYPES", call, dataType='"MAP"', leftType=left, rightType=right
    )


def _check_contains_key(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    if not isinstance(call.arguments[0].data_type, MapType):
        raise _bad_key(call)
    return _with_key(call, conf)


def _element_text(call: Call, show: Show) -> str:
    """The last two say what an index beyond the end gives: a default, an error."""
    shown = ", ".join(show(a) for a in call.arguments)
    if call.options == ("",):
        return f"element_at({shown}, Some(), false)"
    fails = str(call.ansi and not call.options).lower()
    return f"element_at({shown}, None, {fails})"


def _element_sql(call: Call, show: Show) -> str:
    shown = ", ".join(show(a) for a in call.arguments)
    parts = call.arguments[0]
    if call.options == ("",) and isinstance(parts, Call):
        inner = ", ".join(show(a) for a in parts.arguments)
        return f"split_part({inner}, {show(call.arguments[1])})"
    return f"{'try_' if call.options else ''}element_at({shown})"


def _of_arrays(call: Call) -> DataType:
    keys, values = map(array_of, call.arguments)
    return MapType(keys.element_type, values.element_type, values.contains_null)


def _map_from_entries(call: Call) -> DataType:
    entry = element_of(call.arguments[0])
    if isinstance(entry, StructType) and len(entry.fields) == 2:
        key, value = entry.fields
        return MapType(key.data_type, value.data_type, value.nullable)
    return entry


def _check_entries(call: Call, conf: Conf) -> Expression:
    """An array of structs of two fields."""
    require_count(call, 1)
    kind = call.arguments[0].data_type
    entry = kind.element_type if isinstance(kind, ArrayType) else None
    if not (isinstance(entry, StructType) and len(entry.fields) == 2):
        raise unexpected_type(call, 0, '"ARRAY" of pair "STRUCT"')
    return call


def _check_map_concat(call: Call, conf: Conf) -> Expression:
    for argument in call.arguments:
        if not isinstance(argument.data_type, MapType):
            names = type_names([a.data_type for a in call.arguments])
            raise function_mismatch("MAP_CONCAT_DIFF_TYPES", call, dataType=names)
    values = coerce_to_common(call.arguments, conf)
    return with_arguments(call, values or call.arguments)


def _element_value(call: Call, base: object, key: object) -> object:
    if isinstance(call.arguments[0].data_type, MapType):
        return next((v for k, v in base if k == key), None)  # type: ignore[attr-defined]
    assert isinstance(base, tuple) and isinstance(key, int)
    if key != 0 and abs(key) <= len(base):
        return base[key - 1 if key > 0 else key]
    if key == 0 or (call.ansi and not call.options):
        raise IndexError(key)
    return "" if "" in call.options else None  # split_part is made of it


def _contains_key(call: Call) -> Expression:
    mapping, key = call.arguments
    return like_call(call, "array_contains", like_call(call, "map_keys", mapping), key)


def _map_of_text(call: Call, text: str, between: str, behind_key: str) -> object:
    """Where both marks are signs without a meaning in patterns, and no key stands twice."""
    if not {between, behind_key} <= set(",:;=&# "):
        raise ValueError(between)
    pairs = [entry.partition(behind_key) for entry in text.split(between)]
    if len({key for key, _, _ in pairs}) < len(pairs):
        raise ValueError(text)
    return tuple((key, value if mark else None) for key, mark, value in pairs)


register(
    FunctionSpec(
        name="element_at",
        data_type=element_type,
        nullable=lambda call: True,
        check=_check_element_at,
        text=_element_text,
        sql=_element_sql,
        evaluate=_element_value,
        null_intolerant=True,
        extracts=True,
        reads_clock="never",
        ansi_error="INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
        constant_text="data",
    ),
    FunctionSpec(
        name="try_element_at",
        data_type=element_type,
        nullable=lambda call: True,
        check=_check_element_at,
        replacement=lambda call: like_call(call, "element_at", *call.arguments, options=("TRY",)),
    ),
    # Maps.
    # What the planner itself puts around grouping keys.
    scalar("mapsort", "map", 0, sql=_sorted_sql, written=False),
    scalar("map_keys", "map", _keys, evaluate=lambda call, pairs: tuple(key for key, _ in pairs)),
    scalar("map_values", "map", _values, evaluate=lambda call, pairs: tuple(v for _, v in pairs)),
    scalar("map_entries", "map", _entries, evaluate=lambda call, pairs: tuple(pairs)),
    scalar(
        "map_contains_key",
        "map, any",
        BOOLEAN,
        check=_check_contains_key,
        replacement=_contains_key,
        constant_text="data",
    ),
    scalar(
        "map_concat",
        "map...",
        merged,
        check=_check_map_concat,
        null_intolerant=False,
        treats_alike=True,
    ),
    scalar(
        "map_from_arrays",
        "array, array",
        _of_arrays,
        evaluate=lambda call, keys, values: tuple(zip(keys, values, strict=True)),
    ),
    scalar(
        "map_from_entries",
        "any",
        _map_from_entries,
        check=_check_entries,
        nullable=null_or_holds_null,
    ),
    scalar(
        "str_to_map",
        "!string, [!string=,], [!string=:]",
        MapType(STRING, STRING, True),
        evaluate=_map_of_text,
    ),
)
