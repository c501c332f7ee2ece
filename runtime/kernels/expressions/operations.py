"""What computes each operation of a program: functions of its step and its inputs' columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc

from . import comparing
from .conversions import json_writing
from .conversions.casts import cast
from .nested import arrays, collections, json_calls, map_parts, sorting, structs
from .numbers import arcs, arithmetic, bits, logarithms, powers, rounding
from .numbers.fdlibm import of_number
from .texts import encodings, matching, printing, texts
from .times import composing, formats, reading, time_differences, times


def _by_arrow(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a function of Arrow's gives of the same columns."""
    return lambda step, *columns: function(*columns)


def _with_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same of one that takes a column and a Python string."""
    return lambda step, column, text: function(column, text.as_py())


OPERATIONS: dict[str, Callable[..., Any]] = {
    "not": _by_arrow(pc.invert),
    "isnull": _by_arrow(pc.is_null),
    "isnotnull": _by_arrow(pc.is_valid),
    "isnan": comparing.is_nan,
    "atleastnnonnulls": comparing.enough_values,
    "=": lambda step, left, right: comparing.equal(left, right, step.kinds[0]),
    "<": lambda step, left, right: comparing.less(left, right, step.kinds[0]),
    ">": lambda step, left, right: comparing.less(right, left, step.kinds[0]),
    "<=": lambda step, left, right: comparing.at_most(left, right, step.kinds[0]),
    ">=": lambda step, left, right: comparing.at_most(right, left, step.kinds[0]),
    "<=>": comparing.same,
    **dict.fromkeys(("in", "inset"), comparing.is_in),
    **dict.fromkeys(("greatest", "least"), comparing.extreme),
    "normalizenanandzero": comparing.normalized,
    **dict.fromkeys(
        (
            *("knownnullable", "knownnotnull", "knownfloatingpointnormalized", "positive"),
            *("unix_date", "date_from_unix_date", "precise_timestamp_conversion"),
            "knownnotcontainsnull",
        ),
        times.unchanged,
    ),
    "cast": cast,
    **dict.fromkeys(("+", "-", "*"), arithmetic.add_like),
    "/": arithmetic.divide,
    "div": arithmetic.integral_divide,
    **dict.fromkeys(("%", "mod"), arithmetic.remainder),
    "pmod": arithmetic.positive_remainder,
    **dict.fromkeys(("negative", "abs"), arithmetic.signed),
    "&": _by_arrow(pc.bit_wise_and),
    "|": _by_arrow(pc.bit_wise_or),
    "^": _by_arrow(pc.bit_wise_xor),
    "~": _by_arrow(pc.bit_wise_not),
    **dict.fromkeys(
        ("<<", ">>", ">>>", "shiftleft", "shiftright", "shiftrightunsigned"), arithmetic.shift
    ),
    **dict.fromkeys(("bit_get", "getbit"), bits.bit),
    "bitmap_bit_position": bits.bit_position,
    "bitmap_bucket_number": bits.bucket_number,
    **dict.fromkeys(("floor", "ceil", "ceiling"), arithmetic.whole),
    "unscaledvalue": arithmetic.unscaled,
    "makedecimal": arithmetic.scaled,
    **dict.fromkeys(("round", "bround"), rounding.rounded),
    "sqrt": arithmetic.square_root,
    "exp": of_number(logarithms.exp),
    **dict.fromkeys(("ln", "log"), logarithms.logarithm),
    "log2": of_number(logarithms.log2, above=0),
    "log10": of_number(logarithms.log10, above=0),
    "log1p": of_number(logarithms.log1p, above=-1),
    **dict.fromkeys(("pow", "power"), powers.power),
    "width_bucket": arithmetic.bucket,
    "rint": of_number(np.rint),
    "cbrt": of_number(arcs.cbrt),
    "expm1": of_number(arcs.expm1),
    "asin": of_number(arcs.asin),
    "acos": of_number(arcs.acos),
    "atan": of_number(arcs.atan),
    "atan2": arcs.arc_of_two,
    "sinh": of_number(arcs.sinh),
    "cosh": of_number(arcs.cosh),
    "tanh": of_number(arcs.tanh),
    **dict.fromkeys(("signum", "sign"), arithmetic.signum),
    "hex": encodings.hexadecimal,
    "unhex": encodings.bytes_of_hexadecimal,
    "conv": encodings.in_base,
    "bin": texts.binary_digits,
    **dict.fromkeys(("upper", "lower"), texts.cased),
    "length": texts.length,
    **dict.fromkeys(("octet_length", "bit_length"), texts.octets),
    "reverse": _by_arrow(pc.utf8_reverse),
    "concat": arrays.concat,
    "concat_ws": texts.concat_ws,
    "substring": texts.substring,
    "overlay": texts.overlaid,
    **dict.fromkeys(("trim", "ltrim", "rtrim"), texts.trimmed),
    "contains": _with_text(pc.match_substring),
    "startswith": _with_text(pc.starts_with),
    "endswith": _with_text(pc.ends_with),
    "like": texts.like,
    **dict.fromkeys(("rlike", "regexp", "regexp_like"), matching.matches),
    "split": matching.divided,
    "regexp_extract": matching.extracted,
    "regexp_extract_all": matching.all_extracted,
    "regexp_replace": matching.replaced_matches,
    "initcap": texts.words_capitalized,
    "replace": texts.replaced,
    "instr": texts.position,
    "elt": texts.chosen,
    "locate": lambda step, part, text, _: texts.position(step, text, part),  # from the first letter
    "repeat": lambda _, text, times: pc.binary_repeat(text, max(times.as_py(), 0)),
    **dict.fromkeys(("lpad", "rpad"), texts.padded),
    **dict.fromkeys(("format_string", "printf"), printing.printed),
    "format_number": printing.number_text,
    **dict.fromkeys(
        (
            *("year", "quarter", "month", "dayofmonth", "day", "dayofyear", "dayofweek"),
            *("weekday", "weekofyear", "last_day"),
        ),
        times.date_field,
    ),
    **dict.fromkeys(("hour", "minute", "second"), times.clock_field),
    "date_trunc": times.date_trunc,
    "trunc": times.trunc,
    **dict.fromkeys(("unix_micros", "unix_millis", "unix_seconds"), times.unix),
    **dict.fromkeys(("timestamp_micros", "timestamp_millis"), times.from_unix),
    "timestamp_seconds": times.from_seconds,
    **dict.fromkeys(("date_add", "date_sub"), times.moved_days),
    "datediff": times.days_between,
    **dict.fromkeys(("subtract_dates", "subtract_timestamps"), times.interval_between),
    **dict.fromkeys(("add_months", "date_add_ym_interval"), times.moved_months),
    "next_day": times.next_day,
    "timestamp_add_ym_interval": times.moved_by_months,
    "timestamp_add_interval": times.moved,
    "make_dt_interval": times.interval_of,
    "interval_of_text": composing.interval_of_text,
    "divide_interval": times.divided_interval,
    "multiply_interval": times.multiplied_interval,
    "secondwithfraction": times.second_with_fraction,
    "extractansiintervaldays": times.whole_days,
    **dict.fromkeys(
        (f"extractansiinterval{unit}" for unit in ("hours", "minutes", "seconds")),
        times.interval_field,
    ),
    "make_date": composing.date_of,
    **dict.fromkeys(
        (
            *("make_timestamp", "make_timestamp_ltz", "make_timestamp_ntz"),
            *("try_make_timestamp", "try_make_timestamp_ltz", "try_make_timestamp_ntz"),
        ),
        composing.time_of,
    ),
    **dict.fromkeys(("date_format", "from_unixtime"), formats.shown_times),
    **dict.fromkeys(("gettimestamp", "unix_timestamp", "to_unix_timestamp"), reading.read_times),
    **dict.fromkeys(("from_utc_timestamp", "to_utc_timestamp"), times.in_zone),
    "convert_timezone": times.in_zone,
    "months_between": time_differences.months_between,
    "timestampadd": time_differences.added,
    "timestampdiff": time_differences.timestampdiff,
    "encode": encodings.encoded,
    "decode": encodings.decoded,
    "unbase64": encodings.bytes_of_base64,
    **dict.fromkeys(("url_decode", "try_url_decode"), encodings.url_text),
    **dict.fromkeys(("parse_url", "try_parse_url"), encodings.part_of_url),
    "array": collections.array_of,
    "map": collections.map_of,
    "mapsort": map_parts.by_key,
    "arrays_zip": arrays.zipped,
    "sequence": collections.counted,
    "slice": collections.part_of,
    "map_keys": map_parts.keys,
    "map_values": map_parts.items,
    "map_entries": map_parts.entries,
    "map_from_entries": map_parts.from_entries,
    "map_concat": map_parts.concatenated,
    "map_from_arrays": collections.map_of_arrays,
    **dict.fromkeys(("size", "cardinality"), arrays.size),
    "get_array_item": arrays.item,
    "element_at": arrays.element,
    "get_map_value": arrays.map_value,
    "array_contains": arrays.contains,
    "array_position": arrays.position,
    "array_remove": arrays.removed,
    **dict.fromkeys(("array_max", "array_min"), arrays.extreme),
    "arrays_overlap": arrays.overlap,
    "array_distinct": arrays.distinct,
    "array_repeat": arrays.repeated_value,
    "array_insert": arrays.inserted,
    "flatten": arrays.flat,
    "array_join": arrays.joined,
    "sort_array": sorting.sorted_array,
    "array_sort": sorting.sorted_nulls_last,
    "split_part": collections.part_of_text,
    "str_to_map": collections.map_of_text,
    "to_json": json_writing.to_json,
    "named_struct": structs.struct,
    "get_struct_field": structs.field,
    "from_json": json_calls.from_json,
    "get_json_object": json_calls.json_value,
    **dict.fromkeys(("hash", "xxhash64"), structs.hashed),
}
