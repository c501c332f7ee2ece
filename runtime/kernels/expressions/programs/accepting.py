"""What must hold of arguments beyond their types for an operation to be computed here.

Each takes the kinds of the arguments, their constant values (`...`: no constant) and the options of
the call. The module imports neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .....planner.model.text.time_zones import known_zone
from ...json.support import path_steps
from . import patterns, time_formats
from .operation_facts import FLOATS, HASHED, family, leaves
from .program import Kind, decimal_of

DATE_UNITS = frozenset(("WEEK", "MON", "MONTH", "MM", "QUARTER", "YEAR", "YYYY", "YY"))
CLOCK_UNITS = frozenset(("DAY", "DD", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"))
"""What dates, and beside it timestamps, are truncated to."""
DIFFERENCE_UNITS = CLOCK_UNITS - {"DD"} | {"WEEK", "MONTH", "QUARTER", "YEAR"}
"""The units of the difference of two times."""

_MOST_REPEATED = 10_000

_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
WEEKDAYS = {name[:size]: i for i, name in enumerate(_DAYS) for size in (2, 3, len(name))}
"""The names of days that `next_day` takes, and their places from Monday."""

URL_PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO")
"""What `parse_url` gives of a URL."""


def keeps_digits(name: str, kinds: Sequence[Kind]) -> bool:
    """Whether the sum, difference or product of two decimals has 38 digits at most."""
    return _digits(name, kinds) <= 38


def sum_fits(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether the exact sum of two decimals has 256 bits."""
    return _digits("+", kinds) <= 76


def product_fits(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether the exact product of two decimals has 256 bits."""
    return _digits("*", kinds) <= 76


def _digits(name: str, kinds: Sequence[Kind]) -> int:
    sides = [decimal_of(kind) for kind in kinds]
    if None in sides:
        return 0
    (p, s), (q, t) = (side for side in sides if side is not None)
    return p + q + 1 if name == "*" else max(p - s, q - t) + max(s, t) + 1


def short(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether a decimal has 34 digits at most: Spark rounds longer ones to so many."""
    return all((decimal_of(kind) or (0, 0))[0] <= 34 for kind in kinds)


def in_a_long(kinds: Sequence[Kind], values: object, options: Sequence[object]) -> bool:
    """Whether the decimal that goes in, or comes out, has 18 digits at most."""
    return (decimal_of(kinds[0]) or (options or (0,)))[0] in range(19)


def in_micros(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether a decimal has no more than microseconds of seconds that always have 64 bits."""
    precision, scale = decimal_of(kinds[0]) or (0, 0)
    return scale <= 6 and precision - scale <= 12


def same_kinds(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether all arguments have one type."""
    return all(kind == kinds[0] for kind in kinds)


def is_pattern(kinds: Sequence[Kind], values: Sequence[object], options: Sequence[object]) -> bool:
    """Whether a LIKE pattern is well formed: where it is not, Spark fails."""
    pattern, escape = values[1], str(options[0]) if options else "\\"
    if not isinstance(pattern, str):
        return False
    rest = iter(pattern)
    return all(character != escape or next(rest, "") in ("%", "_", escape) for character in rest)


def from_start(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    """Whether a text is searched from its first letter on."""
    return values[2] == 1


def is_unit(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    """Whether something is truncated to a unit that there is; else Spark gives null unseen."""
    units = DATE_UNITS if kinds[0] == "date" else DATE_UNITS | CLOCK_UNITS
    unit = values[1] if kinds[0] == "date" else values[0]
    return isinstance(unit, str) and unit.upper() in units


def is_difference(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether there is a unit of the difference of two times."""
    unit = values[0]
    return isinstance(unit, str) and unit.upper() in DIFFERENCE_UNITS


def few_digits(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a number is rounded behind its point, to so many digits that their power is exact."""
    return isinstance(values[1], int) and 0 <= values[1] <= 15


def has_keys(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    """Whether the keys of a map are constants, each another one, and its values of one type."""
    keys = values[::2]
    return (
        len(kinds) % 2 == 0
        and all(isinstance(key, str | int) and not isinstance(key, bool) for key in keys)
        and len(set(keys)) == len(keys)
        and len({*kinds[::2]}) == len({*kinds[1::2]}) == 1
    )


def have_keys(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether an array holds what makes keys as it is, without NaN and -0.0."""
    element = kinds[0][2][0]
    return isinstance(element, str) and element not in ("float", "double", "void")


def are_entries(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether an array holds structs whose first field makes keys as it is."""
    entry = kinds[0][2][0]
    return isinstance(entry, tuple) and not {*leaves(entry[2][0])} & {*FLOATS, "void"}


def same_keys(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether maps are of one type, and their keys stay as they are."""
    return same_kinds(kinds) and not {*leaves(kinds[0][2][0])} & {*FLOATS, "void"}


def is_sorted(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    """Whether an array is sorted whose equal elements are the same (0.0 and -0.0 are not)."""
    return values[1] is not None and not {*leaves(kinds[0])} & {*FLOATS, "void"}


def of_same_bytes(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether equal elements of an array are the same."""
    return not {*leaves(kinds[0])} & {*FLOATS, "void"}


def is_member(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether a value can be an element of an array, or a key of a map."""
    return kinds[1] == kinds[0][2][0]


def is_element(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether an element is asked for by its index, or by a key of the map's type."""
    return family(kinds[0]) == "array" or is_member(kinds)


def is_short(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether an array that is filled with a value stays short."""
    return values[1] is None or (isinstance(values[1], int) and values[1] <= _MOST_REPEATED)


def is_inserted(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    """Whether a value is put among elements of its type, not far from them."""
    near = values[1] is None or (isinstance(values[1], int) and abs(values[1]) <= _MOST_REPEATED)
    return near and kinds[0][2] == (kinds[2],)


def of_arrays(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether an array holds arrays."""
    return family(kinds[0][2][0]) == "array"


def of_structs(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether something is a struct, or an array of structs."""
    return "struct" in (kinds[0][0], family(kinds[0][2][0]))


def of_texts(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether an array holds strings."""
    return kinds[0][2] == ("string",)


def is_near(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a place in a text and a length are far from where 32 bits end."""
    return all(isinstance(value, int) and abs(value) < 1 << 29 for value in values[2:])


def are_plain_signs(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a text is divided by two signs that mean nothing else in regular expressions."""
    return all(
        isinstance(sign, str) and len(sign) == 1 and sign not in "\\.[]{}()*+-?^$|"
        for sign in values[1:]
    )


def is_url_part(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a URL has such a part, and a key of its query is plain."""
    part, key = values[1], values[2] if len(values) > 2 else "plain"
    if len(values) > 2 and part != "QUERY":
        return False
    return part in URL_PARTS and isinstance(key, str) and key.replace("_", "a").isalnum()


def is_utf8(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a character set is UTF-8."""
    return isinstance(values[1], str) and values[1].upper() == "UTF-8"


def is_number_format(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether numbers are shown with so few digits that none is made up."""
    return values[1] is None or (isinstance(values[1], int) and values[1] <= 15)


def default_seed(kinds: Sequence[Kind], values: object, options: Sequence[object]) -> bool:
    """Whether hashes begin with Spark's own seed, and there are hashes of all parts."""
    parts = all(family(part) in HASHED for kind in kinds for part in leaves(kind))
    maps = any(family(part) == "map" for kind in kinds for part in _parts(kind))
    return parts and not maps and tuple(options) in ((), (42,))


def _parts(kind: Kind) -> Iterator[Kind]:
    yield kind
    if isinstance(kind, tuple):
        for part in kind[2]:
            yield from _parts(part)


def divides(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether a quotient of decimals, of which the scale is Spark's, is found in longs."""
    if decimal_of(kinds[0]) is None:
        return True
    (p, s), (q, t) = (decimal_of(kind) or (0, 0) for kind in kinds)
    scale = max(6, s + q + 1)
    whole = p - s + t
    return p <= 18 and q <= 17 and scale + t - s <= 17 and scale + q < 36 and whole + scale < 38


def is_matched(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a pattern is in the grammar of `patterns`."""
    return patterns.is_known(values[1])


def is_extracted(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a pattern is in it, and has the group."""
    return isinstance(values[2], int) and patterns.is_known(values[1], (values[2],))


def is_all_extracted(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether all matches are extracted: behind an empty one libraries go on at other places."""
    wanted = values[2]
    return isinstance(wanted, int) and patterns.is_known(values[1], (wanted,), never_empty=True)


def is_replaced(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether matches of a pattern are replaced, from the first letter on."""
    return values[3] == 1 and patterns.is_replacement(values[1], values[2])


def is_divided(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a text is divided by a pattern, without a limit."""
    unlimited = isinstance(values[2], int) and values[2] <= 0
    return unlimited and (values[1] == "" or patterns.is_splitting(values[1]))


def are_parts(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    """Whether a timestamp is made of seconds in microseconds, in a zone that is known."""
    zones = values[6:]
    known = all(zone is None or (isinstance(zone, str) and known_zone(zone)) for zone in zones)
    return kinds[5] == "decimal(16,6)" and known


def is_weekday(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether `next_day` knows a day."""
    return isinstance(values[1], str) and values[1].upper() in WEEKDAYS


def is_shown(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether times are shown in a pattern."""
    return time_formats.is_shown(values[1])


def is_read(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    """Whether times are read by a pattern, or are no texts."""
    return kinds[0] != "string" or time_formats.is_read(values[1])


def is_path(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a path of get_json_object has names and indexes alone."""
    return values[0] is ... and path_steps(values[1]) is not None


def are_zones(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    """Whether all zones are known here."""
    names = [v for kind, v in zip(kinds, values, strict=True) if kind == "string"]
    return all(isinstance(name, str) and known_zone(name) for name in names)


def is_column(kinds: object, values: Sequence[object], options: object) -> bool:
    """Whether the first argument is no constant."""
    return values[0] is ...
