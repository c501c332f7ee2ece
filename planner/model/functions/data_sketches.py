"""Theta and KLL sketches: plans know their types, and only Spark computes them."""

from __future__ import annotations

from collections.abc import Iterator

from ..conf import Conf
from ..expressions import Call, Expression
from ..registry import Buffer, FunctionSpec, Show, register
from ..types import BINARY, DOUBLE, FLOAT, LONG, STRING, ArrayType, DataType
from .aggregates_common import always, planned_only, typed_text
from .shapes import always_null, check_arguments, parameters, scalar

_KINDS: tuple[tuple[str, str, DataType], ...] = (
    ("bigint", "integral", LONG),
    ("float", "float", FLOAT),
    ("double", "float|double", DOUBLE),
)
_SKETCHED = "!array|binary|double|float|int|bigint|string"


def _aggregate(name: str, takes: str, *, optional_size: bool = False) -> FunctionSpec:
    wanted = parameters(takes)
    forms = planned_only(Buffer("buf", BINARY))

    def check(call: Call, conf: Conf) -> Expression:
        return check_arguments(call, wanted, conf)

    def with_size(call: Call, show: Show) -> str:
        value, *size = map(show, call.arguments)
        return f"{name}({value}, {f'Some({size[0]})' if size else 'None'}, 0, 0)"

    return FunctionSpec(
        name=name,
        kind="aggregate",
        data_type=always(BINARY),
        nullable=lambda call: False,
        check=check,
        text=with_size if optional_size else typed_text("0", "0"),
        forms=lambda call: forms,
        object_hash=True,
    )


def _function(name: str, takes: str, result: DataType) -> FunctionSpec:
    return scalar(name, takes, result, codegen=False)


def _asked(kind: str, result: DataType) -> Iterator[FunctionSpec]:
    """What a KLL sketch of one kind of numbers is asked: for one rank or value, or for several."""

    def of(call: Call, one: DataType) -> DataType:
        return ArrayType(one) if isinstance(call.arguments[1].data_type, ArrayType) else one

    yield scalar(
        f"kll_sketch_get_quantile_{kind}",
        "!binary, any",
        lambda call: of(call, result),
        nullable=always_null,
        codegen=False,
    )
    yield scalar(
        f"kll_sketch_get_rank_{kind}",
        "!binary, any",
        lambda call: of(call, DOUBLE),
        nullable=always_null,
        codegen=False,
    )


register(
    _aggregate("theta_sketch_agg", f"{_SKETCHED}, [!int=12]"),
    _aggregate("theta_union_agg", "!binary, [!int=12]"),
    _aggregate("theta_intersection_agg", "!binary"),
    _function("theta_sketch_estimate", "!binary", LONG),
    _function("theta_union", "!binary, !binary, [!int=12]", BINARY),
    _function("theta_difference", "!binary, !binary", BINARY),
    _function("theta_intersection", "!binary, !binary", BINARY),
)
for _kind, _takes, _result in _KINDS:
    register(
        _aggregate(f"kll_sketch_agg_{_kind}", f"{_takes}, [!int]", optional_size=True),
        _aggregate(f"kll_merge_agg_{_kind}", "!binary, [!int]", optional_size=True),
        _function(f"kll_sketch_to_string_{_kind}", "!binary", STRING),
        _function(f"kll_sketch_get_n_{_kind}", "!binary", LONG),
        _function(f"kll_sketch_merge_{_kind}", "!binary, !binary", BINARY),
        *_asked(_kind, _result),
    )
