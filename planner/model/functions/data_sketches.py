"""Theta and KLL sketches: plans know their types; of the aggregates theta_sketch_agg is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..expressions.core import Call, Expression
from ..expressions.evaluation import evaluate
from ..registry import AggregateForms, Buffer, Finish, FunctionSpec, Merge, Show, Start, register
from ..schemas.types import BINARY, DOUBLE, FLOAT, LONG, STRING, ArrayType, DataType
from ..settings.conf import Conf
from .aggregates_common import always, gathered_forms, planned_only, present, typed_text
from .shapes import always_null, check_arguments, parameters, scalar

_KINDS: tuple[tuple[str, str, DataType], ...] = (
    ("bigint", "integral", LONG),
    ("float", "float", FLOAT),
    ("double", "float|double", DOUBLE),
)
_SKETCHED = "!array|binary|double|float|int|bigint|string"


_BUFFER = Buffer("buf", BINARY)
_PLANNED = planned_only(_BUFFER)


def _planned(call: Call) -> AggregateForms:
    return _PLANNED


def _theta_forms(call: Call) -> AggregateForms:
    """The least hashes of all values, 2^size of them and one more."""
    value, size = call.arguments
    known = evaluate(size)
    bits = None if known is None else known.value
    if not isinstance(bits, int) or not 4 <= bits <= 26 or isinstance(value.data_type, ArrayType):
        return _PLANNED
    constants = (1 << bits,)
    return gathered_forms(
        value,
        present(value),
        Merge("least_hashes", (0,), constants),
        buffer=ArrayType(LONG, False),
        start=Start("hashes", constants, value.data_type),
        finish=Finish("theta_sketches", constants),
        plan=(_BUFFER,),
    )


def _aggregate(
    name: str,
    takes: str,
    *,
    optional_size: bool = False,
    forms: Callable[[Call], AggregateForms] = _planned,
) -> FunctionSpec:
    wanted = parameters(takes)

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
        forms=forms,
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
    _aggregate("theta_sketch_agg", f"{_SKETCHED}, [!int=12]", forms=_theta_forms),
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
