"""Where Spark's own mark for "null in, null out" differs from what nullability suggests.

The optimizer infers `isnotnull` filters and folds nulls by this mark. Asked of a live Spark 4.3:
a condition `f(column) IS NOT NULL` shows in its plan whether Spark infers anything about the
column.
"""

from __future__ import annotations

from ..registry import amend

# Null for a null argument, but the optimizer does not know: only a call of constants is folded.
NULL_FOR_NULL = """bround concat date_trunc get_json_object ltrim round rtrim sequence trim
    trunc"""

# Not even that: for some arguments, under some settings, or not of constants.
NOT_MARKED = "arrays_zip cardinality locate map_concat position shuffle size"

# May be null for other reasons, too, and marked all the same.
MARKED = """array_contains arrays_overlap invoke make_date make_timestamp make_timestamp_ltz
    make_timestamp_ntz static_invoke timestamp_seconds"""


def correct() -> None:
    """Put the marks right, once all functions are registered."""
    for name in NULL_FOR_NULL.split():
        amend(name, null_intolerant=False, null_for_null=True)
    for name in NOT_MARKED.split():
        amend(name, null_intolerant=False)
    for name in MARKED.split():
        amend(name, null_intolerant=True)
