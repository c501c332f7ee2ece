"""What tasks compute without Spark of arrays, maps, structs and JSON, and hashes of columns."""

from __future__ import annotations

from . import accepting_nested as nested
from . import accepting_texts as texts
from .operation_facts import TIMES, WHOLE, Operation, each, same, same_kinds

_TEXT_AND_CONSTANT = (("string", "=string"),)

NESTED: dict[str, Operation] = {
    # Arrays and maps.
    "array": Operation(same(("any",), 1), variadic=True, eager=True, accepts=same_kinds),
    "map": Operation(
        (("any", "any"),), variadic=True, eager=True, raises="always", accepts=nested.keys_of_types
    ),
    "sequence": Operation(
        (
            *(*same(WHOLE, 2), *same(WHOLE, 3), *same(("date", *TIMES), 2)),
            *((kind, kind, "=daytime") for kind in ("date", *TIMES)),
        ),
        raises="always",
        accepts=nested.even_steps,
    ),
    "slice": Operation((("array", "int", "int"),), raises="always"),
    **{name: Operation((("map",),)) for name in ("map_keys", "map_values", "map_entries")},
    "mapsort": Operation((("map",),), accepts=nested.identical_keys),
    "map_from_entries": Operation((("array",),), raises="always", accepts=nested.keys_in_entries),
    "map_concat": Operation(
        (("map",),), variadic=True, eager=True, raises="always", accepts=nested.keys_of_maps
    ),
    "map_from_arrays": Operation(
        (("array", "array"),), raises="always", accepts=nested.keys_as_elements
    ),
    **{name: Operation((("array",), ("map",))) for name in ("size", "cardinality")},
    "get_array_item": Operation(each(("array",), WHOLE), raises="ANSI"),
    "element_at": Operation(
        (("array", "int"), ("map", "any")), raises="always", accepts=nested.index_or_key
    ),
    "get_map_value": Operation((("map", "any"),), accepts=nested.element_of_first),
    **{
        name: Operation((("array", "any"),), accepts=nested.element_of_first)
        for name in ("array_contains", "array_position", "array_remove")
    },
    **{name: Operation((("array",),)) for name in ("array_max", "array_min")},
    "arrays_overlap": Operation((("array", "array"),), accepts=same_kinds),
    "arrays_zip": Operation((("array",),), variadic=True, eager=True),
    "array_distinct": Operation((("array",),), accepts=nested.identical_elements),
    "array_repeat": Operation((("any", "=int"),), eager=True, accepts=nested.few_repeats),
    "array_insert": Operation(
        (("array", "=int", "any"),), raises="always", accepts=nested.near_insert
    ),
    "flatten": Operation((("array",),), accepts=nested.of_arrays),
    "knownnotcontainsnull": Operation((("array",),)),
    "array_join": Operation(
        (("array", "=string"), ("array", "=string", "=string")), accepts=nested.of_texts
    ),
    "sort_array": Operation((("array", "=boolean"),), accepts=nested.sortable),
    "array_sort": Operation((("array",),)),
    "split_part": Operation(
        (("string", "=string", "=int"),), accepts=lambda given: given.values[2] != 0
    ),
    "str_to_map": Operation(
        (("string", "=string", "=string"),), raises="always", accepts=texts.plain_separators
    ),
    # Structs and hashes.
    "to_json": Operation((("any",),), variadic=True, eager=True),
    "named_struct": Operation(same(("any",), 1), variadic=True, eager=True),
    "get_struct_field": Operation((("struct",), ("array",)), accepts=nested.of_structs),
    **{
        name: Operation((("string",),), raises="always", accepts=nested.no_constant, slow=True)
        for name in ("from_json", "from_csv")
    },
    "get_json_object": Operation(
        _TEXT_AND_CONSTANT, raises="always", accepts=nested.json_path, slow=True
    ),
    "hash": Operation((("hashed",),), variadic=True, eager=True, accepts=nested.default_seed),
    "xxhash64": Operation((("hashed",),), variadic=True, eager=True, accepts=nested.default_seed),
}
