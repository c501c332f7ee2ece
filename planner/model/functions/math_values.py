"""Values of mathematical functions over constants.

Each takes the call and its arguments' plain values and gives Spark's value. A ValueError,
LookupError or ArithmeticError says that the value is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    Decimal,
    localcontext,
)
from typing import cast

from ..expressions.core import Call
from ..schemas.types import DecimalType, IntegralType, LongType
from ..tree import replace
from .cast_values import wrap


def log_above(function: Callable[[float], float], least: float = 0.0) -> Callable[[float], object]:
    """A logarithm, which is null where it has no value."""
    return lambda x: None if x <= least else function(x)


def within_one(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function that is NaN but from -1 to 1."""
    return lambda x: function(x) if -1 <= x <= 1 else math.nan


def log(base: float, x: float) -> float | None:
    """`log(base, x)`."""
    return None if base <= 0 or x <= 0 else math.log(x) / math.log(base)


def sign(x: float) -> float:
    """`signum`; not of an interval."""
    if not isinstance(x, float | int):
        raise ValueError(x)
    return math.nan if math.isnan(x) else float((x > 0) - (x < 0))


def rint(x: float) -> float:
    """The nearest whole number, halves to the even one."""
    return math.copysign(round(x), x) if math.isfinite(x) else x


def cube_root(x: float) -> float:
    """`cbrt`, exact where the root is a whole number."""
    nearest = round(math.cbrt(x))
    return float(nearest) if nearest**3 == x else math.cbrt(x)


def shifted(call: Call, n: int, places: int) -> int:
    """`<<`, `>>` and `>>>` of Java: so many places modulo the number's bits."""
    bits = 64 if isinstance(call.data_type, LongType) else 32
    places %= bits
    if call.name in ("shiftleft", "<<"):
        return wrap(n << places, bits)
    if call.name in ("shiftrightunsigned", ">>>"):
        n %= 1 << bits
    return wrap(n >> places, bits)


def bit_at(call: Call, n: int, place: int) -> int:
    """`bit_get`."""
    kind = call.arguments[0].data_type
    if not isinstance(kind, IntegralType) or not 0 <= place < kind.bits:
        raise ValueError(place)
    return n >> place & 1


def bucket(call: Call, value: object, start: object, end: object, count: int) -> int | None:
    """`width_bucket` of numbers."""
    if not all(isinstance(v, float) and math.isfinite(v) for v in (value, start, end)):
        raise ValueError(value)
    x, low, high = cast("tuple[float, float, float]", (value, start, end))
    if count <= 0 or count == 2**63 - 1 or low == high:
        return None
    if low > high:
        x, low, high = -x, -low, -high
    if x < low:
        return 0
    return count + 1 if x >= high else int(count * (x - low) / (high - low)) + 1


def bit_count(call: Call, n: int) -> int:
    """How many of the 64 bits are set."""
    return (n & (1 << 64) - 1).bit_count()


def factorial(call: Call, n: int) -> int | None:
    """Null where it is no 64-bit number."""
    return math.factorial(n) if 0 <= n <= 20 else None


def unless_nan(call: Call, value: Callable[[], object], other: Callable[[], object]) -> object:
    """`nanvl`."""
    x = value()
    return other() if isinstance(x, float) and math.isnan(x) else x


_ROUNDING = {
    "round": ROUND_HALF_UP,
    "bround": ROUND_HALF_EVEN,
    "ceil": ROUND_CEILING,
    "floor": ROUND_FLOOR,
}


def rounded(call: Call, value: object, scale: int | None) -> object:
    """The number to so many digits behind the point, in the way of the function."""
    if value is None or scale is None:
        return None
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    if not exact.is_finite():
        return value
    step = Decimal(1).scaleb(-scale)
    kind = call.data_type
    with localcontext() as context:
        context.prec = 400
        whole_steps = (exact / step).to_integral_value(rounding=_ROUNDING[call.name]) * step
        if isinstance(kind, DecimalType):
            return whole_steps.quantize(Decimal(1).scaleb(-kind.scale))
    return int(whole_steps) if isinstance(kind, IntegralType) else float(whole_steps)


def whole(call: Call, value: float | Decimal, scale: int = 0) -> object:
    """`ceil` or `floor`, of one argument or to so many digits."""
    if len(call.arguments) == 2:
        return rounded(replace(call, name=_floor_or_ceil(call)), value, scale)
    number = math.floor(value) if _floor_or_ceil(call) == "floor" else math.ceil(value)
    return Decimal(number) if isinstance(call.data_type, DecimalType) else number


def _floor_or_ceil(call: Call) -> str:
    return "floor" if call.name == "floor" else "ceil"
