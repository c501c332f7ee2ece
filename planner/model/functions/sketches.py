"""Sketches, bitmaps, valid UTF-8 and XPath: functions that Spark mostly calls as methods."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..expressions.core import Call, Expression, LambdaFunction, LambdaVariable, Literal
from ..expressions.evaluation import evaluate
from ..registry import (
    AggregateForms,
    Buffer,
    Finish,
    FunctionSpec,
    Merge,
    Over,
    Start,
    null_if_any,
    register,
)
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
from ..tree import replace
from .aggregates_common import (
    always,
    gathered_forms,
    not_nullable,
    nullable,
    planned_only,
    present,
    typed_text,
)
from .build import call as build
from .build import double, long, when
from .mismatch import non_foldable, require_count
from .shapes import always_null, check_types, invoked, scalar

_BITMAPS = "BitmapExpressionUtils"
_UTF8 = "ExpressionImplUtils"
_FALSE = Literal(value=False, type_=BOOLEAN)
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


def _check_union(call: Call, conf: Conf) -> Expression:
    """Different sizes are refused unless the last argument allows them."""
    wanted = 2 if call.name == "hll_union_agg" else 3
    if len(call.arguments) == wanted - 1:
        call = replace(call, arguments=(*call.arguments, _FALSE))
    return check_types(call, [*["!binary"] * (wanted - 1), "boolean"], conf)


def _check_count_min(call: Call, conf: Conf) -> Expression:
    return check_types(call, ["!integral|string|binary", "!double", "!double", "!int|bigint"], conf)


def _aggregate(name: str, result: DataType, buffer: str, **how: object) -> FunctionSpec:
    forms = planned_only(Buffer(buffer, result))
    defaults: dict[str, object] = {
        "kind": "aggregate",
        "data_type": always(result),
        "nullable": nullable,
        "forms": lambda call: forms,
        "text": typed_text("0", "0"),
    }
    return FunctionSpec(name=name, **{**defaults, **how})  # type: ignore[arg-type]


def _check_product(call: Call, conf: Conf) -> Expression:
    return check_types(call, ["double"], conf)


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


def _check_positions(call: Call, conf: Conf) -> Expression:
    return check_types(call, ["bigint"], conf)


def _check_bitmaps(call: Call, conf: Conf) -> Expression:
    return check_types(call, ["!binary"], conf)


def _bitmap_forms(operation: str, empty: int) -> Callable[[Call], AggregateForms]:
    def forms(call: Call) -> AggregateForms:
        (value,) = call.arguments
        return AggregateForms(
            buffers=(Buffer("bitmap", BINARY),),
            merges=(Merge(operation, (0,)),),
            partial=lambda over: (over(call),),
            row=lambda: (value,),
            finish=Finish("padded", (empty,)),
        )

    return forms


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
        plan=(Buffer("bitmap", BINARY),),
    )


def _count_min_forms(call: Call) -> AggregateForms:
    plan = Buffer("buf", BINARY)
    value, *constants = call.arguments
    known = [found.value for found in map(evaluate, constants) if found is not None]
    match known:
        case [float(error), float(confidence), int(seed)] if error > 0 and 0 < confidence < 1:
            width = math.ceil(2 / error)
            depth = math.ceil(-math.log1p(-confidence) / math.log(2))
        case _:
            return planned_only(plan)
    cell = StructType((StructField("v", INT), StructField("n", LONG)))
    return gathered_forms(
        value,
        present(value),
        Merge("counts", (0,)),
        buffer=ArrayType(cell, False),
        start=Start("cells", (depth, width, seed), value.data_type),
        finish=Finish("count_min_sketch", (depth, width, seed)),
        plan=(plan,),
    )


def _union_forms(call: Call) -> AggregateForms:
    """Unions of sketches of one size: others would have to be cut to the least."""
    plan = Buffer("buf", BINARY)
    value, several = call.arguments
    known = evaluate(several)
    if known is None or known.value:
        return planned_only(plan)
    return gathered_forms(
        value,
        present(value),
        Merge("hll_unions", (0,)),
        buffer=BINARY,
        start=Start("hll_unions", (), BINARY),
        finish=Finish("union_or_empty", ()),
        empty=None,
        plan=(plan,),
    )


def _check_path(call: Call, conf: Conf) -> Expression:
    """The path of an XPath is a constant."""
    require_count(call, 2)
    path = call.arguments[1]
    if not path.foldable:
        raise non_foldable(call, "path", "STRING", path)
    return check_types(call, ["string", "string"], conf)


register(
    scalar("hll_sketch_estimate", "!binary", LONG, codegen=False),
    FunctionSpec(
        name="hll_union",
        data_type=always(BINARY),
        nullable=null_if_any,
        check=_check_union,
        null_intolerant=True,
        codegen=False,
    ),
    _aggregate(
        "hll_union_agg", BINARY, "buf", check=_check_union, object_hash=True, forms=_union_forms
    ),
    _aggregate(
        "count_min_sketch",
        BINARY,
        "buf",
        check=_check_count_min,
        object_hash=True,
        forms=_count_min_forms,
        state_object="count-min sketch",
    ),
    _aggregate(
        "bitmap_construct_agg",
        BINARY,
        "bitmap",
        check=_check_positions,
        nullable=not_nullable,
        forms=_positions_forms,
        state_object="bitmap",
    ),
    *(
        _aggregate(
            f"bitmap_{name}_agg",
            BINARY,
            "bitmap",
            check=_check_bitmaps,
            nullable=not_nullable,
            forms=_bitmap_forms(f"bytes_{name}", empty),
        )
        for name, empty in (("or", 0), ("and", 0xFF))
    ),
    # DataFrames' product() makes it; SQL has no name for it.
    _aggregate("product", DOUBLE, "product", check=_check_product, text=None, forms=_product_forms),
    invoked("bitmap_bit_position", "bigint", LONG, f"{_BITMAPS}.bitmapBitPosition"),
    invoked("bitmap_bucket_number", "bigint", LONG, f"{_BITMAPS}.bitmapBucketNumber"),
    invoked("bitmap_count", "!binary", LONG, f"{_BITMAPS}.bitmapCount"),
    invoked("validate_utf8", "string", STRING, f"{_UTF8}.validateUTF8String"),
    invoked("try_validate_utf8", "string", STRING, f"{_UTF8}.tryValidateUTF8String"),
    invoked("make_valid_utf8", "string", STRING, "{0}.makeValid", "", kind="invoke"),
    *(
        replace(
            invoked(
                name,
                "string, string",
                result,
                f"XPath{kind}Evaluator({{1}}).evaluate",
                "{0}",
                kind="invoke",
                nullable=always_null,
            ),
            check=_check_path,
        )
        for name, kind, result in _XPATHS
    ),
)
