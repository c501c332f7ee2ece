"""What filters say of the rows that they let through: what is not null, and what else holds."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator
from functools import reduce

from ..model.frozen import dataclass
from ..model.registry import find
from .spelling import Symbol, given, is_constant, operands_of, order_key


def without_implied(filters: Iterable[Symbol]) -> frozenset[Symbol]:
    """Filters without those that others imply: `v > 3` leaves no null, and nothing below 1."""
    kept = sorted(set(filters), key=order_key)
    for condition in list(kept):
        others = [other for other in kept if other is not condition]
        if follows(condition, others):
            kept = others
    return frozenset(kept)


def not_following(conditions: Iterable[Symbol], filters: Iterable[Symbol]) -> frozenset[Symbol]:
    """The conditions that rows which pass filters may fail."""
    known = frozenset(filters)
    return frozenset(c for c in conditions if c not in known and not follows(c, known))


def follows(condition: Symbol, filters: Iterable[Symbol]) -> bool:
    """Whether rows that pass filters pass a condition too."""
    if is_null_check(condition):
        return condition[4][0] in not_null(filters)
    return any(implies(other, condition) for other in filters)


def not_null(filters: Iterable[Symbol]) -> frozenset[Symbol]:
    """What is not null in rows that pass filters."""
    return frozenset(part for condition in filters for part in _not_null_where(condition))


def simplified(value: Symbol, filters: Iterable[Symbol]) -> Symbol:
    """A value in rows that pass filters."""
    return given(value, not_null(filters))


def needed(value: Hashable) -> Iterator[Symbol]:
    """A value, and the parts that make it null where they are null."""
    if not isinstance(value, tuple):
        return
    yield value
    match value:
        case ("call", str(name), _, options, tuple(parts)):
            null_of_null = _null_of_null(name, options)
            for part in parts if null_of_null else parts[:1] if name == "in" else ():
                yield from needed(part)
        case ("cast", _, _, _, inner) | ("field", _, inner):
            yield from needed(inner)
        case ("PreciseTimestampConversion" | "window start", inner, *_):
            yield from needed(inner)


def _null_of_null(name: str, options: Hashable) -> bool:
    """Whether a call is null where any of its arguments is."""
    spec = find(name)
    if spec is None:
        return False
    return spec.null_intolerant or spec.null_for_null or (spec.of_null is not None and not options)


def is_null_check(condition: Symbol) -> bool:
    """Whether a condition is `x IS NOT NULL`."""
    return condition[:2] == ("call", "isnotnull")


def _not_null_where(condition: Symbol) -> frozenset[Symbol]:
    """What is not null in rows in which a condition is true, and so not null itself."""
    match condition:
        case ("call", "isnotnull", _, _, (one,)):
            return frozenset(needed(one))
        case ("call", "or" | "and" as name, *_):
            each = [_not_null_where(part) for part in operands_of(condition, name)]
            return reduce(frozenset.intersection if name == "or" else frozenset.union, each)
        case _:
            return frozenset(needed(condition))


# --------------------------------------------------------------------------------- comparisons


@dataclass(frozen=True)
class _Bounds:
    """What a condition says of one value: constants that it is one of, is not, or lies between.

    Attributes:
        subject: the value, and the type of the constants.
        one_of: the constants that it may be; None: any.
        other_than: one that it is not.
        least, most: between which it lies, each with whether it may be that itself.
    """

    subject: Hashable
    one_of: tuple[object, ...] | None = None
    other_than: tuple[object, ...] = ()
    least: tuple[object, bool] | None = None
    most: tuple[object, bool] | None = None

    def allows(self, value: object) -> bool:
        """Whether the value may be this."""
        if self.one_of is not None and value not in self.one_of:
            return False
        if value in self.other_than:
            return False
        above = self.least is None or _after(value, *self.least)
        return above and (self.most is None or _before(value, *self.most))


def _after(value: object, bound: object, inclusive: bool) -> bool:
    return bool(value > bound) or (inclusive and value == bound)  # type: ignore[operator]


def _before(value: object, bound: object, inclusive: bool) -> bool:
    return bool(value < bound) or (inclusive and value == bound)  # type: ignore[operator]


def implies(condition: Symbol, other: Symbol) -> bool:
    """Whether rows that pass one comparison with constants pass another of the same value."""
    one, two = _bounds(condition), _bounds(other)
    if one is None or two is None or one.subject != two.subject:
        return False
    if one.one_of is not None:
        return all(map(two.allows, one.one_of))
    if two.one_of is not None:
        return False
    if two.other_than:
        return one.other_than == two.other_than or not one.allows(two.other_than[0])
    if two.least is not None:
        return one.least is not None and _within(one.least, two.least, after=True)
    return (
        one.most is not None and two.most is not None and _within(one.most, two.most, after=False)
    )


def _within(one: tuple[object, bool], two: tuple[object, bool], *, after: bool) -> bool:
    """Whether one bound is at least as narrow as the other."""
    if one[0] == two[0]:
        return two[1] or not one[1]
    return bool(one[0] > two[0]) == after  # type: ignore[operator]


def _bounds(condition: Symbol) -> _Bounds | None:
    match condition:
        case ("call", "not", _, _, (("call", "=", _, _, (one, two)),)):
            found = _compared(one, two)
            return found and _Bounds(found[0], other_than=(found[1],))
        case ("call", "=", _, _, (one, two)):
            found = _compared(one, two)
            return found and _Bounds(found[0], one_of=(found[1],))
        case ("call", "in", _, _, (subject, *constants)):
            pairs = [_compared(subject, constant) for constant in constants]
            known = [pair for pair in pairs if pair is not None]
            same = len(known) == len(pairs) and len({pair[0] for pair in known}) == 1
            return _Bounds(known[0][0], one_of=tuple(v for _, v in known)) if same else None
        case ("call", "<" | "<=" as name, _, _, (one, two)):
            found = _compared(one, two)
            if found is None:
                return None
            bound = (found[1], name == "<=")
            if is_constant(one):
                return _Bounds(found[0], least=bound)
            return _Bounds(found[0], most=bound)
        case _:
            return None


_ORDERED = ("integer", "string", "date", "timestamp", "timestamp_ntz")
"""Types whose constants Python puts in Spark's order. Strings with a collation are none of them."""


def _compared(one: Hashable, two: Hashable) -> tuple[Hashable, object] | None:
    """What is compared with a constant, with the constant's type, and the constant."""
    subject, constant = (two, one) if is_constant(one) else (one, two)
    if is_constant(subject):
        return None
    match constant:
        case ("literal", kind, str(text)) if kind in _ORDERED and text != "None":
            value = _value(text)
            return None if value is None else ((subject, kind), value)
        case _:
            return None


def _value(text: str) -> object:
    """A literal's value, if it is a whole number or a text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return value if type(value) in (int, str) else None
