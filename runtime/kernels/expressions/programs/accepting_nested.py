"""What must hold, beyond their types, of the arguments of operations of nested values and hashes.

The module imports neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...json.support import path_steps
from .operation_facts import FLOATS, HASHED, Arguments, family, leaves, same_kinds
from .program import Kind

_MOST_REPEATED = 10_000
_DAY = 86_400_000_000


def even_steps(given: Arguments) -> bool:
    """Whether a sequence's numbers have one type, or a constant leads from one time to the next.

    That is whole days for dates: Spark cuts the rest off each of them.
    """
    kinds, step = given.kinds, given.values[-1]
    if len(kinds) < 3 or kinds[2] != "daytime":
        return same_kinds(given)
    whole = kinds[0] != "date" or (isinstance(step, int) and step % _DAY == 0 and step != 0)
    return step is not None and kinds[0] == kinds[1] and whole


def keys_of_types(given: Arguments) -> bool:
    """Whether a map has values of one type, and keys of one that are different or found out."""
    keys = given.values[::2]
    return (
        len(given.kinds) % 2 == 0
        and len({*given.kinds[::2]}) == len({*given.kinds[1::2]}) == 1
        and (different_keys(given.values) or (... in keys and _identical(given.kinds[0])))
    )


def different_keys(values: Sequence[object]) -> bool:
    """Whether all keys of a map are constants, each another one."""
    keys = values[::2]
    constant = all(isinstance(key, str | int) and not isinstance(key, bool) for key in keys)
    return constant and len(set(keys)) == len(keys)


def keys_as_elements(given: Arguments) -> bool:
    """Whether an array holds what makes keys as it is, without NaN and -0.0."""
    element = given.kinds[0][2][0]
    return isinstance(element, str) and element not in ("float", "double", "void")


def keys_in_entries(given: Arguments) -> bool:
    """Whether an array holds structs whose first field makes keys as it is."""
    entry = given.kinds[0][2][0]
    return isinstance(entry, tuple) and _identical(entry[2][0])


def keys_of_maps(given: Arguments) -> bool:
    """Whether maps are of one type, and their keys stay as they are."""
    return same_kinds(given) and _identical(given.kinds[0][2][0])


def identical_keys(given: Arguments) -> bool:
    """Whether equal keys of a map are the same."""
    return _identical(given.kinds[0][2][0])


def sortable(given: Arguments) -> bool:
    """Whether an array is sorted whose equal elements are the same."""
    return given.values[1] is not None and identical_elements(given)


def identical_elements(given: Arguments) -> bool:
    """Whether equal elements of an array are the same."""
    return _identical(given.kinds[0])


def _identical(kind: Kind) -> bool:
    """Whether equal values are the same: 0.0 and -0.0 are not."""
    return not {*leaves(kind)} & {*FLOATS, "void"}


def element_of_first(given: Arguments) -> bool:
    """Whether a value can be an element of an array, or a key of a map."""
    return given.kinds[1] == given.kinds[0][2][0]


def index_or_key(given: Arguments) -> bool:
    """Whether an element is asked for by its index, or by a key of the map's type."""
    return family(given.kinds[0]) == "array" or element_of_first(given)


def few_repeats(given: Arguments) -> bool:
    """Whether an array that is filled with a value stays short."""
    count = given.values[1]
    return count is None or (isinstance(count, int) and count <= _MOST_REPEATED)


def near_insert(given: Arguments) -> bool:
    """Whether a value is put among elements of its type, not far from them."""
    place = given.values[1]
    near = place is None or (isinstance(place, int) and abs(place) <= _MOST_REPEATED)
    return near and given.kinds[0][2] == (given.kinds[2],)


def of_arrays(given: Arguments) -> bool:
    """Whether an array holds arrays."""
    return family(given.kinds[0][2][0]) == "array"


def of_structs(given: Arguments) -> bool:
    """Whether something is a struct, or an array of structs."""
    return "struct" in (given.kinds[0][0], family(given.kinds[0][2][0]))


def of_texts(given: Arguments) -> bool:
    """Whether an array holds strings."""
    return given.kinds[0][2] == ("string",)


def no_constant(given: Arguments) -> bool:
    """Whether the first argument is no constant."""
    return given.values[0] is ...


def json_path(given: Arguments) -> bool:
    """Whether a path of get_json_object has names and indexes alone."""
    return given.values[0] is ... and path_steps(given.values[1]) is not None


def default_seed(given: Arguments) -> bool:
    """Whether hashes begin with Spark's own seed, and there are hashes of all parts."""
    parts = all(family(part) in HASHED for kind in given.kinds for part in leaves(kind))
    maps = any(family(part) == "map" for kind in given.kinds for part in _parts(kind))
    return parts and not maps and tuple(given.options) in ((), (42,))


def _parts(kind: Kind) -> Iterator[Kind]:
    yield kind
    if isinstance(kind, tuple):
        for part in kind[2]:
            yield from _parts(part)
