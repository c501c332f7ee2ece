"""Higher-order functions. Analysis binds the lambdas' parameters before it asks for the check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..expressions.core import Call, Expression, LambdaFunction, LambdaVariable, lit
from ..ids import fresh_id
from ..registry import FunctionSpec, HigherOrder, Parameters, Show, register
from ..schemas.types import BOOLEAN, INT, ArrayType, BooleanType, DataType, MapType, same_type
from ..settings.conf import Conf
from ..text.quoting import to_sql_id, to_sql_type
from .build import array_of, map_of
from .mismatch import require_count, type_mismatch, unexpected_type
from .shapes import (
    Check,
    Result,
    Text,
    each,
    like_call,
    named,
    result_of,
    template,
    with_arguments,
)


def _first_nullable(call: Call) -> bool:
    return call.arguments[0].nullable


def _two_nullable(call: Call) -> bool:
    return call.arguments[0].nullable or call.arguments[1].nullable


def _checked(wanted: str, count: int, *, predicate: bool = False, walked: int = 1) -> Check:
    def check(call: Call, conf: Conf) -> Expression:
        require_count(call, count)
        kind = ArrayType if wanted == "ARRAY" else MapType
        for position, value in enumerate(call.arguments[:walked]):
            if not isinstance(value.data_type, kind):
                raise unexpected_type(call, position, f'"{wanted}"')
        if predicate and not isinstance(call.arguments[-1].data_type, BooleanType):
            raise unexpected_type(call, count - 1, '"BOOLEAN"')
        return call

    return check


def _transformed(call: Call) -> DataType:
    body = call.arguments[-1]
    return ArrayType(body.data_type, body.nullable)


def _with_keys(call: Call) -> DataType:
    kind = map_of(call.arguments[0])
    return MapType(call.arguments[1].data_type, kind.value_type, kind.value_contains_null)


def _check_aggregate(call: Call, conf: Conf) -> Expression:
    """Without a last step the result is what was accumulated."""
    require_count(call, 3, 4)
    if not isinstance(call.arguments[0].data_type, ArrayType):
        raise unexpected_type(call, 0, '"ARRAY"')
    zero, merge = call.arguments[1], call.arguments[2]
    if len(call.arguments) == 3:
        result = LambdaVariable(name="id", type_=zero.data_type, expr_id=fresh_id())
        same = LambdaFunction(body=result, parameters=(result,))
        call = with_arguments(call, (*call.arguments, same))
    if not same_type(zero.data_type, merge.data_type):
        raise unexpected_type(call, 2, f'"{zero.data_type.sql}"')
    return call


def _aggregate_sql(call: Call, show: Show) -> str:
    finish = call.arguments[-1]
    given = call.arguments
    if isinstance(finish, LambdaFunction) and finish.body == finish.parameters[0]:
        given = given[:-1]
    return f"{call.name}({', '.join(map(show, given))})"


def _comparator(call: Call, element: DataType, nullable: bool) -> LambdaFunction:
    """Spark's own order: nulls last, then less and greater."""
    left, right = (
        LambdaVariable(name=name, type_=element, is_nullable=nullable, expr_id=fresh_id())
        for name in ("left", "right")
    )

    test = partial(like_call, call)

    def choose(condition: Expression, value: int, other: Expression) -> Expression:
        return test("if", condition, lit(value), other)

    body = choose(test(">", left, right), 1, lit(0))
    body = choose(test("<", left, right), -1, body)
    body = choose(test("isnull", right), -1, body)
    body = choose(test("isnull", left), 1, body)
    both = test("and", test("isnull", left), test("isnull", right))
    return LambdaFunction(body=choose(both, 0, body), parameters=(left, right))


def _check_array_sort(call: Call, conf: Conf) -> Expression:
    require_count(call, 1, 2)
    kind = call.arguments[0].data_type
    if not isinstance(kind, ArrayType):
        raise unexpected_type(call, 0, '"ARRAY"')
    if len(call.arguments) == 1:
        order = _comparator(call, kind.element_type, kind.contains_null)
        return like_call(call, "array_sort", call.arguments[0], order, options=("default",))
    if call.arguments[1].data_type != INT:
        raise type_mismatch(
            "UNEXPECTED_RETURN_TYPE",
            call,
            functionName=to_sql_id("lambdafunction"),
            expectedType='"INT"',
            actualType=to_sql_type(call.arguments[1].data_type),
        )
    return call


def _array_sort_sql(call: Call, show: Show) -> str:
    given = call.arguments[:1] if call.options else call.arguments
    return f"array_sort({', '.join(show(a) for a in given)})"


def _with_values(call: Call) -> DataType:
    body = call.arguments[-1]
    return MapType(map_of(call.arguments[0]).key_type, body.data_type, body.nullable)


def _elements(value: Expression) -> Parameters:
    kind = array_of(value)
    return [(kind.element_type, kind.contains_null)]


def _entries(value: Expression) -> Parameters:
    kind = map_of(value)
    return [(kind.key_type, False), (kind.value_type, kind.value_contains_null)]


def _accumulated(position: int, values: Sequence[Expression]) -> Parameters:
    zero = (values[1].data_type, True)
    return [zero, *_elements(values[0])] if position == 2 else [zero]


def _of_both_maps(position: int, values: Sequence[Expression]) -> Parameters:
    entries = [_entries(value) for value in values]
    return [entries[0][0], *((e[1][0], True) for e in entries)]


_OF_ARRAYS = HigherOrder(lambda position, values: _elements(values[0]))
_WITH_PLACE = HigherOrder(
    lambda position, values: [*_elements(values[0]), (INT, False)], with_place=True
)
_OF_MAPS = HigherOrder(lambda position, values: _entries(values[0]), of_maps=True)
_AGGREGATE = HigherOrder(_accumulated, counts=(3, 4), first=2)
_COMPARED = HigherOrder(lambda position, values: _elements(values[0]) * 2, counts=(1, 2))
_ZIPPED = HigherOrder(
    lambda position, values: [(t, True) for value in values for t, _ in _elements(value)],
    counts=(3,),
    walked=2,
    first=2,
)
_ZIPPED_MAPS = HigherOrder(_of_both_maps, counts=(3,), of_maps=True, walked=2, first=2)


def _spec(
    name: str,
    lambdas: HigherOrder,
    check: Check,
    result: Result,
    nullable: Callable[[Call], bool] = _first_nullable,
    *,
    text: Text | str | None = None,
    **fields: Any,
) -> FunctionSpec:
    return FunctionSpec(
        name=name,
        data_type=result_of(result),
        nullable=nullable,
        check=check,
        text=template(text),
        higher_order=lambdas,
        **fields,
    )


register(
    *each(
        _spec("transform", _WITH_PLACE, _checked("ARRAY", 2), _transformed),
        _spec("filter", _WITH_PLACE, _checked("ARRAY", 2, predicate=True), 0),
        reads_clock="never",
    ),
    # They know three values: null where an element's test is null.
    *(
        _spec(name, _OF_ARRAYS, _checked("ARRAY", 2, predicate=True), BOOLEAN, _two_nullable)
        for name in ("exists", "forall")
    ),
    *named(
        _spec(
            "aggregate",
            _AGGREGATE,
            _check_aggregate,
            -1,
            lambda call: call.arguments[0].nullable or call.arguments[-1].nullable,
            sql=_aggregate_sql,
        ),
        "reduce",
    ),
    *each(
        _spec(
            "array_sort",
            _COMPARED,
            _check_array_sort,
            0,
            text="array_sort({args}, false)",
            sql=_array_sort_sql,
        ),
        _spec("zip_with", _ZIPPED, _checked("ARRAY", 3, walked=2), _transformed, _two_nullable),
        _spec("map_filter", _OF_MAPS, _checked("MAP", 2, predicate=True), 0),
        _spec("transform_keys", _OF_MAPS, _checked("MAP", 2), _with_keys),
        _spec("transform_values", _OF_MAPS, _checked("MAP", 2), _with_values),
        _spec(
            "map_zip_with", _ZIPPED_MAPS, _checked("MAP", 3, walked=2), _with_values, _two_nullable
        ),
        codegen=False,
    ),
)
