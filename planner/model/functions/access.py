"""Parts of values: array items, map values; structs, arrays and maps made of parts."""

from __future__ import annotations

from typing import cast

from ..expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    GetStructField,
    Literal,
    lit,
)
from ..expressions.evaluation import evaluate
from ..registry import FunctionSpec, Show, register
from ..schemas.types import (
    NULL,
    ArrayType,
    DataType,
    IntegralType,
    MapType,
    StringType,
    StructField,
    StructType,
)
from ..settings.conf import Conf
from ..text.fields_shown import cut_arguments
from ..text.text import pretty
from .coercion import cast_to, coerce_to_common, merge_types
from .inputs import Accepts
from .mismatch import (
    diff_types,
    function_mismatch,
    type_mismatch,
    type_names,
    unexpected_type,
    wrong_argument_count,
)
from .shapes import always_null, each, never_null, template, with_arguments

# ------------------------------------------------------------------------------ items and values


def _item(call: Call, show: Show) -> str:
    child, key = call.arguments
    return f"{show(child)}[{show(key)}]"


def element_type(call: Call) -> DataType:
    """The type of an array's items or a map's values."""
    match call.arguments[0].data_type:
        case ArrayType(element_type=inner) | MapType(value_type=inner):
            return inner
        case other:
            return other


def _check_array_item(call: Call, conf: Conf) -> Expression:
    key = call.arguments[1]
    if not isinstance(key.data_type, IntegralType):
        if key.data_type == NULL:
            return with_arguments(call, (call.arguments[0], cast_to(key, lit(0).data_type, conf)))
        raise unexpected_type(call, 1, '"INTEGRAL"')
    return call


def _item_nullable(call: Call) -> bool:
    """Null beyond the end; of an array of known parts outside ANSI what the parts allow."""
    match call.arguments:
        case (Call(name="array", arguments=parts) as array, Literal(value=int(position))):
            if not call.ansi and 0 <= position < len(parts):
                return array.nullable or parts[position].nullable
    return True


def _check_map_value(call: Call, conf: Conf) -> Expression:
    map_type = call.arguments[0].data_type
    assert isinstance(map_type, MapType)
    key = call.arguments[1]
    target = Accepts("key", exact=map_type.key_type).implicit(key.data_type, ansi=conf.ansi)
    if target is None:
        raise unexpected_type(call, 1, f'"{map_type.key_type.sql}"')
    return with_arguments(call, (call.arguments[0], cast_to(key, target, conf)))


def _array_item_sql(call: Call, show: Show) -> str:
    """`array[index]` fails beyond the end in ANSI mode; where that is not wanted it is `get`."""
    if call.ansi:
        return _item(call, show)
    return f"get({', '.join(map(show, call.arguments))})"


# -------------------------------------------------------------------------------------- creators


def _check_array(call: Call, conf: Conf) -> Expression:
    if not call.arguments:
        return call
    values = coerce_to_common(call.arguments, conf)
    if values is None:
        raise diff_types(call, choice=True)
    return with_arguments(call, values)


def _array_type(call: Call) -> DataType:
    if not call.arguments:
        return ArrayType(NULL, False)
    element = merge_types([a.data_type for a in call.arguments])
    return ArrayType(element, any(a.nullable for a in call.arguments))


def _check_map(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) % 2:
        raise wrong_argument_count("map", "2n (n > 0)", len(call.arguments), placeless=True)
    keys = coerce_to_common(call.arguments[::2], conf) if call.arguments else ()
    values = coerce_to_common(call.arguments[1::2], conf) if call.arguments else ()
    for case, found, given in (
        ("CREATE_MAP_KEY_DIFF_TYPES", keys, call.arguments[::2]),
        ("CREATE_MAP_VALUE_DIFF_TYPES", values, call.arguments[1::2]),
    ):
        if found is None:
            names = type_names([a.data_type for a in given])
            raise function_mismatch(case, call, dataType=names)
    assert keys is not None and values is not None
    paired = [side for pair in zip(keys, values, strict=True) for side in pair]
    return with_arguments(call, paired)


def _map_type(call: Call) -> DataType:
    keys, values = call.arguments[::2], call.arguments[1::2]
    if not keys:
        return MapType(NULL, NULL, False)
    return MapType(
        merge_types([k.data_type for k in keys]),
        merge_types([v.data_type for v in values]),
        any(v.nullable for v in values),
    )


def _map_value(call: Call, *values: object) -> object:
    keys = values[::2]
    if any(key is None for key in keys) or len(set(map(repr, keys))) < len(keys):
        raise ValueError(keys)
    return tuple(zip(keys, values[1::2], strict=True))


def _item_value(call: Call, base: object, key: object) -> object:
    if isinstance(call.arguments[0].data_type, MapType):
        return next((v for k, v in base if k == key), None)  # type: ignore[attr-defined]
    items = cast("tuple[object, ...]", base)
    if isinstance(key, int) and 0 <= key < len(items):
        return items[key]
    if call.ansi:
        raise IndexError(key)
    return None


def struct_type(call: Call) -> DataType:
    """The type of `named_struct(name, value, ...)`."""
    names, values = call.arguments[::2], call.arguments[1::2]
    return StructType(
        tuple(
            StructField(_field_name(name), value.data_type, value.nullable)
            for name, value in zip(names, values, strict=True)
        )
    )


def _field_name(name: Expression) -> str:
    value = evaluate(name)
    return pretty(name) if value is None else str(value.value)


def _check_named_struct(call: Call, conf: Conf) -> Expression:
    if not call.arguments or len(call.arguments) % 2:
        raise wrong_argument_count(
            "named_struct", "2n (n > 0)", len(call.arguments), placeless=True
        )
    wrong = [
        f'"{pretty(name)}"'
        for name in call.arguments[::2]
        if not name.foldable or not isinstance(name.data_type, StringType)
    ]
    if wrong:
        condition = "CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING"
        raise type_mismatch(condition, call, inputExprs=f"[{', '.join(wrong)}]")
    return call


def _check_struct(call: Call, conf: Conf) -> Expression:
    """`struct(a, b)` is a named struct whose names are those of its columns."""
    if not call.arguments:
        raise wrong_argument_count("struct", "> 0", 0)
    arguments: list[Expression] = []
    for position, value in enumerate(call.arguments):
        name = f"col{position + 1}"
        if isinstance(value, Alias | AttributeReference | GetStructField):
            name = value.name
        arguments += lit(name), value.child if isinstance(value, Alias) else value
    aliases = (value.name if isinstance(value, Alias) else "" for value in call.arguments)
    return Call(
        name="named_struct",
        arguments=tuple(arguments),
        ansi=call.ansi,
        time_zone=call.time_zone,
        options=("struct", *aliases),
    )


def _struct_text(call: Call, show: Show) -> str:
    name = "struct" if call.options else "named_struct"
    return f"{name}({cut_arguments([show(a) for a in call.arguments])})"


def _struct_pretty(call: Call, show: Show) -> str:
    if call.options:
        parts = zip(call.arguments[1::2], call.options[1:], strict=True)
        shown = (f"{show(a)} AS {alias}" if alias else show(a) for a, alias in parts)
        return f"struct({', '.join(shown)})"
    return f"named_struct({', '.join(map(show, call.arguments))})"


register(
    *each(
        FunctionSpec(
            name="get_array_item",
            data_type=element_type,
            nullable=_item_nullable,
            check=_check_array_item,
            sql=_array_item_sql,
            ansi_error="INVALID_ARRAY_INDEX",
        ),
        FunctionSpec(
            name="get_map_value",
            data_type=element_type,
            nullable=always_null,
            check=_check_map_value,
            sql=_item,
        ),
        text=_item,
        pretty=_item,
        evaluate=_item_value,
        null_intolerant=True,
        extracts=True,
        written=False,
        constant_text="data",
    ),
    *each(
        FunctionSpec(
            name="array",
            data_type=_array_type,
            check=_check_array,
            evaluate=lambda call, *values: values,
            constructor=True,
        ),
        FunctionSpec(
            name="map", data_type=_map_type, check=_check_map, evaluate=_map_value, constructor=True
        ),
        FunctionSpec(
            name="named_struct",
            data_type=struct_type,
            check=_check_named_struct,
            evaluate=lambda call, *values: values[1::2],
            text=_struct_text,
            pretty=_struct_pretty,
            sql=template("named_struct({args})"),
            ansi_free=True,
            constructor=True,
            options_hold="names",
        ),
        FunctionSpec(
            name="struct",
            data_type=struct_type,
            check=_check_struct,
            text=_struct_text,
            parsed_operands=(1, 2147483647),
        ),
        nullable=never_null,
        reads_clock="never",
        treats_alike=True,
        constant_text="data",
    ),
)
