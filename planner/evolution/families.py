"""Which aggregate functions keep the same buffer: one's state is right for the other."""

from __future__ import annotations

from collections.abc import Hashable

from .symbols import Symbol

# One name for the functions whose buffers hold the same numbers.
_FAMILIES: dict[str, str] = {
    **dict.fromkeys(("stddev_samp", "stddev_pop", "var_samp", "var_pop"), "second moment"),
    **dict.fromkeys(("covar_pop", "covar_samp"), "covariance"),
    **dict.fromkeys(("corr", "regr_r2"), "correlation"),
    **dict.fromkeys(("regr_slope", "regr_intercept"), "regression"),
    **dict.fromkeys(("percentile", "percentile_cont", "percentile_disc", "median"), "counts"),
    **dict.fromkeys(("avg", "try_avg"), "sum and count"),
    "any_value": "first",
    "bool_and": "min",
    "bool_or": "max",
}
# Arguments that are used only when the result is made of the buffer, by position.
_FOR_THE_RESULT: dict[str, tuple[int, ...]] = {
    "percentile": (1,),
    "percentile_cont": (1,),
    "percentile_disc": (1,),
    "percentile_approx": (1,),
    "listagg": (1,),
}
# Functions whose buffer is an object in bytes, by the kind of object.
_OBJECTS: dict[str, str] = {
    **dict.fromkeys(("collect_list", "collect_set", "array_agg"), "array"),
    **dict.fromkeys(("counts", "mode"), "counts"),
    "percentile_approx": "quantiles",
    "approx_percentile": "quantiles",
    "listagg": "texts",
    "histogram_numeric": "histogram",
    "count_min_sketch": "count-min sketch",
    "bitmap_construct_agg": "bitmap",
    "hll_sketch_agg": "hll sketch",
}


def state_symbol(aggregate: Symbol) -> Symbol:
    """What an aggregate's buffer means, given the symbol of the aggregate."""
    tag, function, distinct, rows = aggregate
    return (tag, _in_state(function), distinct, rows)


def _in_state(function: Hashable) -> Hashable:
    match function:
        case ("call", str(name), zone, options, tuple(arguments)):
            unused = _FOR_THE_RESULT.get(name, ())
            kept = tuple(a for i, a in enumerate(arguments) if i not in unused)
            return ("call", _FAMILIES.get(name, name), zone, options, kept)
        case _:
            return function


def serves(was: Symbol, now: Symbol) -> bool:
    """Whether one function's buffer holds all that another needs: a list makes a set."""
    old, new = _parts(was), _parts(now)
    return old[0] == "collect_list" and new[0] == "collect_set" and old[1:] == new[1:]


def readable(was: Symbol, now: Symbol) -> bool:
    """Whether the bytes that one function stored can be read by another."""
    old, new = _parts(was)[0], _parts(now)[0]
    return _OBJECTS.get(str(old)) == _OBJECTS.get(str(new))


def overwritten(buffer: Symbol) -> bool:
    """Whether a group's next row fills the buffer anew, whatever it held: last, nulls included."""
    name, options, _, rows = _parts(buffer)
    return name == "last" and "True" not in str(options) and not rows


def _parts(buffer: Symbol) -> tuple[Hashable, Hashable, Hashable, Hashable]:
    """The function's name, its options, its arguments and its filter."""
    match buffer:
        case ("buffer", _, ("aggregate", ("call", name, _, options, arguments), _, rows)):
            return name, options, arguments, rows
        case _:
            return None, None, buffer, None
