"""Generators: one row becomes several. A call's type is the struct of the columns it makes.

Analysis makes `explode_outer(x)` an outer Generate of `explode(x)`.
"""

from __future__ import annotations

from typing import Any

from ..expressions.core import Call, Expression, Literal
from ..registry import FunctionSpec, register
from ..schemas.types import (
    INT,
    NULL,
    STRING,
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    same_type,
)
from ..settings.conf import Conf
from ..text.quoting import to_sql_id, to_sql_type
from ..text.text import pretty
from ..tree import replace
from .coercion import cast_to
from .mismatch import (
    non_foldable,
    require_count,
    type_mismatch,
    unexpected_type,
    wrong_argument_count,
)
from .shapes import Check, Result, never_null, result_of, with_arguments


def _inner(call: Call) -> Call:
    """What an outer generator keeps a row for where it makes none: messages name that."""
    return replace(call, name=call.name.removesuffix("_outer"))


def _check_explode(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    if not isinstance(call.arguments[0].data_type, ArrayType | MapType):
        raise unexpected_type(_inner(call), 0, '("ARRAY" or "MAP")')
    return call


def _exploded(call: Call) -> DataType:
    fields: list[StructField] = []
    if "pos" in call.name:
        fields.append(StructField("pos", INT, False))
    match call.arguments[0].data_type:
        case ArrayType(element_type=element, contains_null=nulls):
            fields.append(StructField("col", element, nulls))
        case MapType(key_type=key, value_type=value, value_contains_null=nulls):
            fields += [StructField("key", key, False), StructField("value", value, nulls)]
    return StructType(tuple(fields))


def _replicated(call: Call) -> DataType:
    columns = enumerate(call.arguments[1:])
    return StructType(tuple(StructField(f"col{i}", a.data_type, a.nullable) for i, a in columns))


def _check_inline(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    kind = call.arguments[0].data_type
    if not (isinstance(kind, ArrayType) and isinstance(kind.element_type, StructType)):
        raise unexpected_type(_inner(call), 0, '"ARRAY<STRUCT>"')
    return call


def _inlined(call: Call) -> DataType:
    match call.arguments[0].data_type:
        case ArrayType(element_type=StructType(fields=fields), contains_null=nulls):
            columns = (StructField(f.name, f.data_type, f.nullable or nulls) for f in fields)
            return StructType(tuple(columns))
    return StructType(())


def _rows(call: Call) -> int:
    count = call.arguments[0]
    if isinstance(count, Literal) and isinstance(count.value, int) and count.value > 0:
        return count.value
    if count.data_type != INT:
        raise unexpected_type(call, 0, '"INT"')
    if not count.foldable:
        raise non_foldable(call, "n", "INT", count)
    raise type_mismatch(
        "VALUE_OUT_OF_RANGE",
        call,
        exprName=to_sql_id("n"),
        valueRange="(0, 2147483647]",
        currentValue=pretty(count),
    )


def _check_stack(call: Call, conf: Conf) -> Expression:
    """Each column at the common type of its rows."""
    if len(call.arguments) < 2:
        raise wrong_argument_count("stack", "> 1", len(call.arguments), placeless=True)
    rows, values = _rows(call), list(call.arguments[1:])
    width = -(-len(values) // rows)
    for column in range(width):
        cells = values[column::width]
        # Nulls take the others' type; nothing else is cast.
        kinds = [(i, c.data_type) for i, c in enumerate(cells) if c.data_type != NULL]
        found = kinds[0][1] if kinds else NULL
        wrong = next(((i, kind) for i, kind in kinds if not same_type(found, kind)), None)
        if wrong is not None:
            raise type_mismatch(
                "STACK_COLUMN_DIFF_TYPES",
                call,
                columnIndex=column,
                leftType=to_sql_type(found),
                leftParamIndex=column + 1,
                rightType=to_sql_type(wrong[1]),
                rightParamIndex=column + wrong[0] * width + 1,
            )
        values[column::width] = [cast_to(cell, found, conf) for cell in cells]
    return with_arguments(call, (call.arguments[0], *values))


def _stacked(call: Call) -> DataType:
    rows, values = _rows(call), call.arguments[1:]
    width = -(-len(values) // rows)
    return StructType(
        tuple(StructField(f"col{i}", values[i].data_type, True) for i in range(width))
    )


def _check_json_tuple(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) < 2:
        raise wrong_argument_count("json_tuple", "> 1", len(call.arguments))
    if not all(isinstance(a.data_type, StringType) for a in call.arguments):
        raise type_mismatch("NON_STRING_TYPE", call, funcName=to_sql_id("json_tuple"))
    return call


def _generator(name: str, check: Check | None, result: Result, **fields: Any) -> FunctionSpec:
    return FunctionSpec(
        name=name,
        kind="generator",
        data_type=result_of(result),
        nullable=never_null,
        check=check,
        **fields,
    )


register(
    *(
        _generator(
            name,
            _check_explode,
            _exploded,
            collection_generator=not name.endswith("_outer"),
            named_parameters=(("collection", None),),
        )
        for name in ("explode", "explode_outer", "posexplode", "posexplode_outer")
    ),
    _generator("inline", _check_inline, _inlined, collection_generator=True),
    _generator("inline_outer", _check_inline, _inlined),
    _generator("stack", _check_stack, _stacked, treats_alike=True),
    _generator("replicaterows", None, _replicated, codegen=False, written=False),
    _generator(
        "json_tuple",
        _check_json_tuple,
        lambda call: StructType(
            tuple(StructField(f"c{i}", STRING, True) for i in range(len(call.arguments) - 1))
        ),
        constant_number=True,
    ),
)
