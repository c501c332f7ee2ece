"""What the settings change of optimization: rules left out by name, limits, what is inlined."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from ....planner.model.frozen import dataclass
from ....planner.model.scopes import scope
from ....planner.model.settings.conf import Conf

EXCLUDED = "spark.sql.optimizer.excludedRules"
IN_SET = "spark.sql.optimizer.inSetConversionThreshold"
ALWAYS_INLINE = "spark.sql.optimizer.collapseProjectAlwaysInline"
DISTINCT_KEYS = "spark.sql.optimizer.propagateDistinctKeys.enabled"
EXPLODED_FIELDS = "spark.sql.optimizer.expression.nestedPruning.enabled"
NESTED_FIELDS = "spark.sql.optimizer.nestedSchemaPruning.enabled"
JSON_FIELDS = "spark.sql.optimizer.enableJsonExpressionOptimization"
CSV_FIELDS = "spark.sql.optimizer.enableCsvExpressionOptimization"
_PACKAGE = "org.apache.spark.sql.catalyst.optimizer."

# Spark's rules that may be left out, with what does their work here.
RULES: dict[str, tuple[str, ...]] = {
    "BooleanSimplification": ("simplify_booleans",),
    "CollapseProject": ("collapse_projects",),
    "ColumnPruning": ("prune_columns",),
    "CombineConcats": ("combine_concats",),
    "CombineUnions": ("combine_unions",),
    "ConstantFolding": ("fold",),
    "ConstantPropagation": ("propagate_equalities",),
    "ConvertToLocalRelation": ("convert_to_local_relations",),
    "DecimalAggregates": ("speed_up_decimal_aggregates",),
    "EliminateAggregateFilter": ("eliminate_aggregate_filter",),
    "EliminateLimits": ("eliminate_limits",),
    "EliminateOuterJoin": ("eliminate_outer_joins",),
    "EliminateSorts": ("eliminate_sorts",),
    "FoldablePropagation": ("propagate_foldables",),
    "GenerateOptimization": ("explode_smallest_field",),
    "InferFiltersFromConstraints": ("infer_filters_from_constraints",),
    "InferFiltersFromGenerate": ("infer_filters_from_generators",),
    "LikeSimplification": ("simplify_like",),
    "LimitPushDown": ("push_limits_down",),
    "NullPropagation": ("propagate_nulls", "push_null_checks_down"),
    "OptimizeIn": ("optimize_in",),
    "OptimizeLimitZero": ("optimize_limit_zero",),
    "PropagateEmptyRelation": ("propagate_empty_relations",),
    "PruneFilters": ("prune_filters",),
    "PushDownPredicates": ("push_down_predicates",),
    "PushFoldableIntoBranches": ("push_into_branches",),
    "PushProjectionThroughLimitAndOffset": ("push_projections_through_limits",),
    "PushProjectionThroughUnion": ("push_projections_through_unions",),
    "RemoveLiteralFromGroupExpressions": ("remove_constants_from_grouping",),
    "RemoveNoopOperators": ("remove_noop_operators",),
    "RemoveRedundantAggregates": ("remove_redundant_aggregates",),
    "RemoveRedundantAliases": ("remove_redundant_aliases",),
    "RemoveRepetitionFromGroupExpressions": ("remove_repetition_from_grouping",),
    "ReorderAssociativeOperator": ("gather_constants",),
    "ReplaceNullWithFalseInPredicate": ("replace_null_with_false",),
    "SimplifyBinaryComparison": ("simplify_comparisons",),
    "SimplifyCaseConversionExpressions": ("simplify_case_conversions",),
    "SimplifyCasts": ("simplify_casts",),
    "SimplifyConditionals": ("simplify_conditionals",),
    "SimplifyExtractValueOps": ("simplify_extraction",),
    "UnwrapCastInBinaryComparison": ("unwrap_casts",),
}


@dataclass(frozen=True)
class Settings:
    """What holds for an optimization.

    Attributes:
        excluded: the functions that are left out.
        in_set: how many constants `IN` takes before it is a set.
        always_inline: whether projections collapse though an expression is then computed twice.
        distinct_keys: whether it is asked which columns no two rows share.
        nested_fields: whether fields that are used get columns of their own.
        exploded_fields: whether they do below generators.
        json_fields, csv_fields: whether of parsed JSON, and CSV, only the fields that are used are
            parsed.
    """

    excluded: frozenset[str] = frozenset()
    in_set: int = 10
    always_inline: bool = False
    distinct_keys: bool = True
    nested_fields: bool = True
    exploded_fields: bool = True
    json_fields: bool = True
    csv_fields: bool = True


_DEFAULT = Settings()
_CURRENT: ContextVar[Settings] = ContextVar("_CURRENT", default=_DEFAULT)


def current() -> Settings:
    """The settings of the optimization that is going on."""
    return _CURRENT.get()


def settings_of(conf: Conf) -> AbstractContextManager[None]:
    """Optimize under these settings meanwhile. Names of rules that there are not change nothing."""
    names = [name.strip().removeprefix(_PACKAGE) for name in conf[EXCLUDED].split(",")]
    excluded = frozenset(function for name in names for function in RULES.get(name, ()))
    settings = Settings(
        excluded,
        conf.integer(IN_SET),
        conf.flag(ALWAYS_INLINE),
        conf.flag(DISTINCT_KEYS),
        conf.flag(NESTED_FIELDS),
        conf.flag(NESTED_FIELDS) or conf.flag(EXPLODED_FIELDS),
        conf.flag(JSON_FIELDS),
        conf.flag(CSV_FIELDS),
    )
    return scope(_CURRENT, settings)
