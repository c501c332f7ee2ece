"""Sketches, bitmaps, valid UTF-8 and XPath: functions that Spark mostly calls as methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..expressions.core import Call, Expression, LambdaFunction, LambdaVariable
from ..expressions.evaluation import constant_of, evaluate
from ..registry import AggregateForms, Buffer, Finish, FunctionSpec, Merge, Over, Start, register
from ..schemas.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    ArrayType,
    DataType,
    StructField,
    StructType,
)
from ..settings.conf import Conf
from .aggregates_common import (
    OBJECT_BUFFER,
    OBJECT_FORMS,
    OBJECT_TEXT,
    aggregate,
    gathered_forms,
    object_aggregate,
    present,
)
from .build import call as build
from .build import double, long, when
from .mismatch import non_foldable, require_count
from .shapes import UTILITIES, always_null, check_types, each, invoked, never_null, scalar, template

_BITMAPS = "BitmapExpressionUtils"
_BITMAP = Buffer("bitmap", BINARY)
_SKETCHED = "!array|binary|double|float|int|bigint|string"
_XPATHS: tuple[tuple[str, str, DataType], ...] = (
    ("xpath", "List", ArrayType(STRING, False)),
    ("xpath_string", "String", STRING),
    ("xpath_boolean", "Boolean", BOOLEAN),
    ("xpath_short", "Short", SHORT),
    ("xpath_int", "Int", INT),
    ("xpath_long", "Long", LONG),
    ("xpath_float", "Float", FLOAT),
    ("xpath_double", "Double", DOUBLE),
    ("xpath_number", "Double", DOUBLE),
)


def _product_forms(call: Call) -> AggregateForms:
    value = call.arguments[0]

    def partial(over: Over) -> tuple[Expression, ...]:
        # SQL has no name for it: the values are gathered and multiplied.
        total, factor = (LambdaVariable(name=n, type_=DOUBLE, expr_id=0) for n in ("a", "e"))
        step = LambdaFunction(body=build("*", total, factor), parameters=(total, factor))
        same = LambdaFunction(body=total, parameters=(total,))
        gathered = over(build("collect_list", value))
        numbers = build("aggregate", gathered, double(1.0), step, same)
        return (when(build(">", over(build("count", value)), long(0)), numbers),)

    return AggregateForms(
        buffers=(Buffer("product", DOUBLE),),
        merges=(Merge("product", (0,)),),
        partial=partial,
        row=lambda: (value,),
    )


def _bitmap_forms(operation: str, empty: int) -> Callable[[Call], AggregateForms]:
    return lambda call: AggregateForms(
        buffers=(_BITMAP,),
        merges=(Merge(operation, (0,)),),
        partial=lambda over: (over(call),),
        row=lambda: call.arguments,
        finish=Finish("padded", (empty,)),
    )


def _positions_forms(call: Call) -> AggregateForms:
    (position,) = call.arguments
    return gathered_forms(
        position,
        present(position),
        Merge("bytes_or", (0,)),
        buffer=BINARY,
        start=Start("bitmap", (), LONG),
        empty=b"",
        finish=Finish("padded", (0,)),
        plan=(_BITMAP,),
    )


def _count_min_forms(call: Call) -> AggregateForms:
    value, *constants = call.arguments
    known = [found.value for found in map(evaluate, constants) if found is not None]
    match known:
        case [float(error), float(confidence), int(seed)] if error > 0 and 0 < confidence < 1:
            width = math.ceil(2 / error)
            depth = math.ceil(-math.log1p(-confidence) / math.log(2))
        case _:
            return OBJECT_FORMS
    cell = StructType((StructField("v", INT), StructField("n", LONG)))
    return gathered_forms(
        value,
        present(value),
        Merge("counts", (0,)),
        buffer=ArrayType(cell, False),
        start=Start("cells", (depth, width, seed), value.data_type),
        finish=Finish("count_min_sketch", (depth, width, seed)),
        plan=(OBJECT_BUFFER,),
    )


def _union_forms(call: Call) -> AggregateForms:
    """Unions of sketches of one size: others would have to be cut to the least."""
    value, several = call.arguments
    known = evaluate(several)
    if known is None or known.value:
        return OBJECT_FORMS
    return gathered_forms(
        value,
        present(value),
        Merge("hll_unions", (0,)),
        buffer=BINARY,
        start=Start("hll_unions", (), BINARY),
        finish=Finish("union_or_empty", ()),
        empty=None,
        plan=(OBJECT_BUFFER,),
    )


def _theta_forms(call: Call) -> AggregateForms:
    """The least hashes of all values, 2^size of them and one more."""
    value, size = call.arguments
    bits = constant_of(size, int)
    if bits is None or not 4 <= bits <= 26 or isinstance(value.data_type, ArrayType):
        return OBJECT_FORMS
    constants = (1 << bits,)
    return gathered_forms(
        value,
        present(value),
        Merge("least_hashes", (0,), constants),
        buffer=ArrayType(LONG, False),
        start=Start("hashes", constants, value.data_type),
        finish=Finish("theta_sketches", constants),
        plan=(OBJECT_BUFFER,),
    )


def _kll(kind: str, takes: str, result: DataType) -> tuple[FunctionSpec, ...]:
    """The functions of KLL sketches of one kind of numbers; plans know their types only."""
    fields: dict[str, Any] = {"nullable": never_null, "text": "{name}({0}, {option1}, 0, 0)"}

    def of(call: Call, one: DataType) -> DataType:
        """What a sketch gives for one rank or value, or for several."""
        return ArrayType(one) if isinstance(call.arguments[1].data_type, ArrayType) else one

    return (
        object_aggregate(f"kll_sketch_agg_{kind}", BINARY, f"{takes}, [!int]", **fields),
        object_aggregate(f"kll_merge_agg_{kind}", BINARY, "!binary, [!int]", **fields),
        *each(
            scalar(f"kll_sketch_to_string_{kind}", "!binary", STRING),
            scalar(f"kll_sketch_get_n_{kind}", "!binary", LONG),
            scalar(f"kll_sketch_merge_{kind}", "!binary, !binary", BINARY),
            scalar(
                f"kll_sketch_get_quantile_{kind}",
                "!binary, any",
                lambda call: of(call, result),
                nullable=always_null,
            ),
            scalar(
                f"kll_sketch_get_rank_{kind}",
                "!binary, any",
                lambda call: of(call, DOUBLE),
                nullable=always_null,
            ),
            codegen=False,
        ),
    )


def _check_path(call: Call, conf: Conf) -> Expression:
    """The path of an XPath is a constant."""
    require_count(call, 2)
    path = call.arguments[1]
    if not path.foldable:
        raise non_foldable(call, "path", "STRING", path)
    return check_types(call, ["string", "string"], conf)


register(
    # Different sizes are refused unless the last argument allows them.
    object_aggregate("hll_union_agg", BINARY, "!binary, [boolean=false]", forms=_union_forms),
    object_aggregate(
        "count_min_sketch",
        BINARY,
        "!integral|string|binary, !double, !double, !int|bigint",
        forms=_count_min_forms,
        state_object="count-min sketch",
    ),
    *each(
        object_aggregate("theta_sketch_agg", BINARY, f"{_SKETCHED}, [!int=12]", forms=_theta_forms),
        object_aggregate("theta_union_agg", BINARY, "!binary, [!int=12]"),
        object_aggregate("theta_intersection_agg", BINARY, "!binary"),
        nullable=never_null,
    ),
    *_kll("bigint", "integral", LONG),
    *_kll("float", "float", FLOAT),
    *_kll("double", "float|double", DOUBLE),
    *each(
        aggregate(
            "bitmap_construct_agg", BINARY, "bigint", forms=_positions_forms, state_object="bitmap"
        ),
        aggregate("bitmap_or_agg", BINARY, "!binary", forms=_bitmap_forms("bytes_or", 0)),
        aggregate("bitmap_and_agg", BINARY, "!binary", forms=_bitmap_forms("bytes_and", 0xFF)),
        nullable=never_null,
        text=template(OBJECT_TEXT),
    ),
    # DataFrames' product() makes it; SQL has no name for it.
    aggregate("product", DOUBLE, "double", forms=_product_forms, written=False),
    *each(
        scalar("hll_sketch_estimate", "!binary", LONG),
        scalar("hll_union", "!binary, !binary, [boolean=false]", BINARY),
        scalar("theta_sketch_estimate", "!binary", LONG),
        scalar("theta_union", "!binary, !binary, [!int=12]", BINARY),
        scalar("theta_difference", "!binary, !binary", BINARY),
        scalar("theta_intersection", "!binary, !binary", BINARY),
        codegen=False,
    ),
    invoked("bitmap_bit_position", "bigint", LONG, f"{_BITMAPS}.bitmapBitPosition"),
    invoked("bitmap_bucket_number", "bigint", LONG, f"{_BITMAPS}.bitmapBucketNumber"),
    invoked("bitmap_count", "!binary", LONG, f"{_BITMAPS}.bitmapCount"),
    invoked("validate_utf8", "string", STRING, f"{UTILITIES}.validateUTF8String"),
    invoked("try_validate_utf8", "string", STRING, f"{UTILITIES}.tryValidateUTF8String"),
    invoked("make_valid_utf8", "string", STRING, "{0}.makeValid", "", kind="invoke"),
    *(
        invoked(
            name,
            "string, string",
            result,
            f"XPath{kind}Evaluator({{1}}).evaluate",
            "{0}",
            kind="invoke",
            check=_check_path,
        )
        for name, kind, result in _XPATHS
    ),
)
