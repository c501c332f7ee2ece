"""What tasks compute without Spark of arrays, maps, structs and JSON, and hashes of columns."""

from __future__ import annotations

from . import accepting
from .operation_facts import WHOLE, Operation, each, same

_TEXT_AND_CONSTANT = (("string", "=string"),)

NESTED: dict[str, Operation] = {
    # Arrays and maps.
    "array": Operation(same(("any",), 1), variadic=True, eager=True, accepts=accepting.same_kinds),
    "map": Operation((("any", "any"),), variadic=True, eager=True, accepts=accepting.has_keys),
    "slice": Operation((("array", "int", "int"),), raises="always"),
    **{name: Operation((("map",),)) for name in ("map_keys", "map_values", "map_entries")},
    "map_from_entries": Operation((("array",),), raises="always", accepts=accepting.are_entries),
    "map_concat": Operation(
        (("map",),), variadic=True, eager=True, raises="always", accepts=accepting.same_keys
    ),
    "map_from_arrays": Operation(
        (("array", "array"),), raises="always", accepts=accepting.have_keys
    ),
    **{name: Operation((("array",), ("map",))) for name in ("size", "cardinality")},
    "get_array_item": Operation(each(("array",), WHOLE), raises="ANSI"),
    "element_at": Operation(
        (("array", "int"), ("map", "any")), raises="always", accepts=accepting.is_element
    ),
    "get_map_value": Operation((("map", "any"),), accepts=accepting.is_member),
    **{
        name: Operation((("array", "any"),), accepts=accepting.is_member)
        for name in ("array_contains", "array_position", "array_remove")
    },
    **{name: Operation((("array",),)) for name in ("array_max", "array_min")},
    "arrays_overlap": Operation((("array", "array"),), accepts=accepting.same_kinds),
    "array_distinct": Operation((("array",),), accepts=accepting.of_same_bytes),
    "array_repeat": Operation((("any", "=int"),), eager=True, accepts=accepting.is_short),
    "array_insert": Operation(
        (("array", "=int", "any"),), raises="always", accepts=accepting.is_inserted
    ),
    "flatten": Operation((("array",),), accepts=accepting.of_arrays),
    "knownnotcontainsnull": Operation((("array",),)),
    "array_join": Operation(
        (("array", "=string"), ("array", "=string", "=string")), accepts=accepting.of_texts
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
    "get_struct_field": Operation((("struct",), ("array",)), accepts=accepting.of_structs),
    "from_json": Operation((("string",),), raises="always", accepts=accepting.is_column),
    "get_json_object": Operation(_TEXT_AND_CONSTANT, raises="always", accepts=accepting.is_path),
    "hash": Operation((("hashed",),), variadic=True, eager=True, accepts=accepting.default_seed),
    "xxhash64": Operation(
        (("hashed",),), variadic=True, eager=True, accepts=accepting.default_seed
    ),
}
