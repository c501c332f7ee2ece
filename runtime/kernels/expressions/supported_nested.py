"""What tasks compute without Spark of arrays, maps, structs and JSON, and hashes of columns."""

from __future__ import annotations

from . import accepting
from .operation_facts import Operation, same

_TEXT_AND_CONSTANT = (("string", "=string"),)

NESTED: dict[str, Operation] = {
    # Arrays and maps.
    "array": Operation(same(("any",), 1), variadic=True, eager=True, accepts=accepting.same_kinds),
    "map": Operation((("any", "any"),), variadic=True, eager=True, accepts=accepting.has_keys),
    "slice": Operation((("array", "=int", "=int"),), accepts=accepting.is_part),
    "map_from_arrays": Operation(
        (("array", "array"),), raises="always", accepts=accepting.have_keys
    ),
    "sort_array": Operation((("array", "=boolean"),), accepts=accepting.is_sorted),
    "array_sort": Operation((("array",),)),
    "split_part": Operation(
        (("string", "=string", "=int"),), accepts=lambda kinds, values, _: values[2] != 0
    ),
    "str_to_map": Operation(
        (("string", "=string", "=string"),), raises="always", accepts=accepting.are_plain_signs
    ),
    # Structs and hashes.
    "to_json": Operation((("any",),), variadic=True, eager=True),
    "named_struct": Operation(same(("any",), 1), variadic=True, eager=True),
    "get_struct_field": Operation((("struct",),)),
    "from_json": Operation((("string",),), raises="always", accepts=accepting.is_column),
    "get_json_object": Operation(_TEXT_AND_CONSTANT, raises="always", accepts=accepting.is_path),
    "hash": Operation((("hashed",),), variadic=True, eager=True, accepts=accepting.default_seed),
    "xxhash64": Operation(
        (("hashed",),), variadic=True, eager=True, accepts=accepting.default_seed
    ),
}
