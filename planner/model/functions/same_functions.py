"""Names of one function: calls under any of them are the same to Spark's semanticEquals.

Catalyst keeps how a function was called for its texts alone.
"""

from __future__ import annotations

_NAMES = (
    # aggregates
    "stddev_samp stddev std",
    "var_samp variance",
    "avg mean",
    "first first_value",
    "last last_value",
    "percentile_approx approx_percentile",
    "listagg string_agg",
    "bool_and every",
    "bool_or some any",
    # scalars
    "ceil ceiling",
    "pow power",
    "signum sign",
    "% mod",
    "chr char",
    "length len char_length character_length",
    "lower lcase",
    "upper ucase",
    "substring substr",
    "format_string printf",
    "rlike regexp regexp_like",
    "datediff date_diff",
    "dayofmonth day",
    "sha1 sha",
    "size cardinality",
    "nvl ifnull",
    "to_char to_varchar",
    "date_part datepart",
    "bit_get getbit",
    "current_user user session_user",
    "shiftleft <<",
    "shiftright >>",
    "shiftrightunsigned >>>",
    "aggregate reduce",
    "random rand",
)
_ONE: dict[str, str] = {other: one for one, *others in map(str.split, _NAMES) for other in others}


def one_name(name: str) -> str:
    """The name that stands for all names of a function."""
    return _ONE.get(name, name)
