"""Functions of arrays and maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ..errors import AnalysisError
from ..expressions.core import Call, Expression, LambdaFunction, LambdaVariable, lit
from ..ids import fresh_id
from ..registry import FunctionSpec, Show, null_if_any, register
from ..schemas.types import BOOLEAN, INT, LONG, STRING, ArrayType, DataType, NullType
from ..settings.conf import Conf
from ..text.quoting import to_sql_type
from ..tree import replace
from . import array_values as values
from .build import array_of
from .coercion import (
    cast_to,
    cast_unless_same,
    coerce_to_common,
    merge_types,
    wider_without_strings,
)
from .inputs import parameter
from .mismatch import (
    function_mismatch,
    require_count,
    require_orderable,
    unexpected_type,
)
from .operator_values import is_in
from .shapes import (
    always_null,
    check_types,
    each,
    like_call,
    named,
    replaced,
    scalar,
    with_arguments,
)


def element_of(expression: Expression) -> DataType:
    """The element type of an array, NULL for anything else."""
    return array_of(expression).element_type


def _bad_element(call: Call, array: DataType, element: DataType) -> AnalysisError:
    return function_mismatch(
        "ARRAY_FUNCTION_DIFF_TYPES",
        call,
        dataType='"ARRAY"',
        leftType=to_sql_type(array),
        rightType=to_sql_type(element),
    )


def _with_element(
    *between: str, null: Literal["element", "typed", "refused"] = "element"
) -> Callable[[Call, Conf], Expression]:
    """Check `f(array, element)`: both at the common type of the elements.

    Args:
        between: the types of arguments between them.
        null: whether NULL is an element like others, one where the array has a type, or none.
    """

    def check(call: Call, conf: Conf) -> Expression:
        require_count(call, 2 + len(between))
        array, *others, element = call.arguments
        kind = array.data_type
        if isinstance(element.data_type, NullType) and (
            null == "refused" or (null == "typed" and isinstance(element_of(array), NullType))
        ):
            raise function_mismatch("NULL_TYPE", call)
        if not isinstance(kind, ArrayType):
            if call.name in ("array_remove", "array_insert"):
                raise _bad_element(call, kind, element.data_type)
            raise unexpected_type(call, 0, '"ARRAY"')
        for at, (other, wanted) in enumerate(zip(others, between, strict=True), 1):
            if parameter(wanted).implicit(other.data_type, ansi=False) != other.data_type:
                raise unexpected_type(call, at, parameter(wanted).sql)
        common = wider_without_strings(kind.element_type, element.data_type, conf)
        if common is None:
            raise _bad_element(call, kind, element.data_type)
        array = cast_unless_same(array, ArrayType(common, kind.contains_null), conf)
        return with_arguments(call, (array, *others, cast_unless_same(element, common, conf)))

    return check


def _grown(call: Call) -> DataType:
    return ArrayType(element_of(call.arguments[0]), True)


def _two_arrays(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    arrays = all(isinstance(a.data_type, ArrayType) for a in call.arguments)
    sides = coerce_to_common(call.arguments, conf, strings=False) if arrays else None
    if sides is None:
        left, right = (to_sql_type(a.data_type) for a in call.arguments)
        raise function_mismatch(
            "BINARY_ARRAY_DIFF_TYPES", call, arrayType='"ARRAY"', leftType=left, rightType=right
        )
    return with_arguments(call, sides)


def merged(call: Call) -> DataType:
    return merge_types([a.data_type for a in call.arguments])


def _common(call: Call) -> DataType:
    """Only what both hold may be null."""
    left, right = map(array_of, call.arguments)
    return ArrayType(left.element_type, left.contains_null and right.contains_null)


def null_or_holds_null(call: Call) -> bool:
    """Whether the first argument, an array, may be null or hold a null."""
    return call.arguments[0].nullable or array_of(call.arguments[0]).contains_null


def _array_join(call: Call, conf: Conf) -> Expression:
    require_count(call, 2, 3)
    array, *texts = call.arguments
    kind = array.data_type
    if isinstance(kind, ArrayType) and kind.element_type != STRING:
        array = cast_to(array, ArrayType(STRING, kind.contains_null), conf)
    if not isinstance(kind, ArrayType):
        raise unexpected_type(call, 0, '"ARRAY<STRING>"')
    kinds = ["array<string>", *["!string"] * len(texts)]
    return check_types(with_arguments(call, (array, *texts)), kinds, conf)


def _ordered(call: Call, conf: Conf) -> Expression:
    require_orderable(call, 0)
    return call


def _compact(call: Call) -> Expression:
    array = call.arguments[0]
    kind = array_of(array)
    variable = LambdaVariable(
        name="arg", type_=kind.element_type, is_nullable=True, expr_id=fresh_id()
    )
    body = like_call(call, "isnotnull", variable)
    kept = LambdaFunction(body=body, parameters=(variable,))
    return like_call(call, "knownnotcontainsnull", like_call(call, "filter", array, kept))


def _size_of_null(call: Call) -> bool:
    """Outside ANSI the size of null is -1, unless the call comes from another function."""
    return not call.ansi and not call.options


def _size_text(call: Call, show: Show) -> str:
    return f"{call.name}({show(call.arguments[0])}, {str(_size_of_null(call)).lower()})"


def _size_sql(call: Call, show: Show) -> str:
    name = "array_size" if call.options and not call.ansi else call.name
    return f"{name}({show(call.arguments[0])})"


def _contained(call: Call, array: object, item: object) -> object:
    assert isinstance(array, tuple)
    return is_in(call, item, *array)


def _size_value(call: Call, value: object) -> object:
    if isinstance(value, tuple):
        return len(value)
    return -1 if value is None and _size_of_null(call) else None


def _get(call: Call) -> Expression:
    # Null beyond the end in every mode.
    return replace(like_call(call, "get_array_item", *call.arguments), ansi=False)


def _inserted_at(place: int) -> Callable[[Call], Expression]:
    """An element put at the beginning of an array, or at its end."""

    def replacement(call: Call) -> Expression:
        array, element = call.arguments
        return like_call(call, "array_insert", array, lit(place), element)

    return replacement


def _extreme(name: str, choose: Callable[..., Any]) -> FunctionSpec:
    return scalar(
        name,
        "array",
        lambda call: element_of(call.arguments[0]),
        then=_ordered,
        nullable=always_null,
        evaluate=values.extreme_item(choose),
    )


def _nullable_elements(call: Call) -> bool:
    return null_if_any(call) or array_of(call.arguments[0]).contains_null


register(
    *each(
        *named(
            scalar(
                "size",
                "array|map",
                INT,
                text=_size_text,
                sql=_size_sql,
                nullable=lambda call: not _size_of_null(call) and null_if_any(call),
                evaluate=_size_value,
                of_null=lambda call: -1 if _size_of_null(call) else None,
                ansi_free=True,
            ),
            "cardinality",
        ),
        scalar(
            "array_contains",
            "array, any",
            BOOLEAN,
            check=_with_element(null="refused"),
            nullable=_nullable_elements,
            null_intolerant=True,
            evaluate=_contained,
            constant_text="data",
        ),
        scalar(
            "array_distinct",
            "array",
            0,
            evaluate=values.distinct_value,
            pushed_into_branches=True,
        ),
        _extreme("array_max", max),
        _extreme("array_min", min),
        scalar(
            "sort_array", "array, [boolean=true]", 0, then=_ordered, evaluate=values.sorted_value
        ),
        reads_clock="never",
    ),
    *each(
        scalar(
            "array_position",
            "array, any",
            LONG,
            check=_with_element(null="typed"),
            evaluate=values.position,
        ),
        scalar(
            "array_remove", "array, any", 0, check=_with_element(), evaluate=values.removed_value
        ),
        *(
            scalar(
                name,
                "array, any",
                _grown,
                check=_with_element(),
                nullable=lambda call: call.arguments[0].nullable,
                replacement=_inserted_at(place),
            )
            for name, place in (("array_append", -1), ("array_prepend", 1))
        ),
        scalar(
            "array_insert",
            "array, int, any",
            _grown,
            check=_with_element("int"),
            text="array_insert({args}, false)",
            nullable=lambda call: call.arguments[0].nullable or call.arguments[1].nullable,
            null_intolerant=False,
            evaluate=values.inserted,
        ),
        scalar(
            "array_join",
            "array, string, [string]",
            STRING,
            check=_array_join,
            text="array_join({0}, {1}, {option2})",
            null_intolerant=False,
            evaluate=values.joined_items,
            costly=True,
        ),
        scalar(
            "array_repeat",
            "any, !int",
            lambda call: ArrayType(call.arguments[0].data_type, call.arguments[0].nullable),
            nullable=lambda call: call.arguments[1].nullable,
            evaluate=values.repeated_value,
            null_intolerant=False,
        ),
        constant_text="data",
    ),
    *each(
        scalar(
            "array_union", "array, array", merged, evaluate=values.union_value, treats_alike=True
        ),
        scalar("array_intersect", "array, array", _common, evaluate=values.common),
        scalar("array_except", "array, array", 0, evaluate=values.without),
        scalar(
            "arrays_overlap",
            "array, array",
            BOOLEAN,
            nullable=_nullable_elements,
            null_intolerant=True,
            evaluate=values.overlap,
        ),
        check=_two_arrays,
    ),
    replaced(
        "array_size",
        "array",
        lambda call: like_call(call, "size", *call.arguments, options=("null",)),
    ),
    replaced("array_compact", "array", _compact),
    scalar(
        "knownnotcontainsnull",
        "array",
        lambda call: ArrayType(element_of(call.arguments[0]), False),
        sql="{0}",
        tagging=True,
        written=False,
    ),
    scalar(
        "flatten",
        "array<array>",
        lambda call: element_of(call.arguments[0]),
        nullable=null_or_holds_null,
        null_intolerant=True,
        evaluate=values.flat_value,
    ),
    scalar("slice", "array, int, int", 0, evaluate=values.slice_value),
    scalar("shuffle", "array", 0, deterministic=False, null_intolerant=False),
    replaced("get", "array, int", _get, sql="get({args})"),
)
