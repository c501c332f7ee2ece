"""Functions that Spark has and stateplan does not: refusals should not say that Spark has none."""

from __future__ import annotations

_NAMES = """
    collate collation collect_union counter_diff current_path current_time from_base32 from_xml
    hmac is_valid_variant is_variant_null make_time parse_json randstr schema_of_csv
    schema_of_variant schema_of_variant_agg schema_of_xml st_asbinary st_geogfromwkb
    st_geomfromwkb st_setsrid st_srid time_diff time_from_micros time_from_millis
    time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc timestamp_nanos
    to_base32 to_time to_variant_object to_xml try_parse_json try_to_time
    try_variant_array_append try_variant_get try_variant_insert try_variant_set
    tuple_difference_double tuple_difference_integer tuple_difference_theta_double
    tuple_difference_theta_integer tuple_intersection_agg_double tuple_intersection_agg_integer
    tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
    tuple_intersection_theta_integer tuple_sketch_agg_double tuple_sketch_agg_integer
    tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_summary_double
    tuple_sketch_summary_integer tuple_sketch_theta_double tuple_sketch_theta_integer
    tuple_union_agg_double tuple_union_agg_integer tuple_union_double tuple_union_integer
    tuple_union_theta_double tuple_union_theta_integer uniform unix_nanos variant_array_append
    variant_delete variant_get variant_insert variant_set variant_strip_nulls vector_avg
    vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm
    vector_normalize vector_sum
"""

UNSUPPORTED_FUNCTIONS = frozenset(_NAMES.split())
