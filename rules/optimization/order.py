"""The rules in the order they run, with the reason for each one's place."""

from __future__ import annotations

from ...planner.model.expressions.core import GetStructField
from ...planner.model.expressions.python_functions import PythonUDF
from ...planner.model.expressions.subqueries import SubqueryExpression
from ...planner.model.functions.struct_updates import UpdateFields
from ...planner.model.plans.hints import ResolvedHint
from ...planner.model.plans.logical import (
    Aggregate,
    Deduplicate,
    Expand,
    Filter,
    GlobalLimit,
    Join,
    LocalLimit,
    Project,
    Sort,
)
from ...planner.model.plans.python_operators import EvaluatePython
from ...planner.model.plans.relations import WithCTE
from .expressions.comparisons import simplify_comparisons_below_null_checks
from .expressions.failing_constants import refuse_failing_constants
from .expressions.nulls import CHANGE_NULLABILITY, replace_null_with_false, update_nullability
from .expressions.replace_expressions import (
    Common,
    pull_out_common_expressions,
    replace_expressions,
)
from .expressions.simplify import simplify_expressions
from .expressions.structs import combine_updates, replace_updates
from .filters.infer_filters import (
    clean_filters,
    infer_filters_from_constraints,
    infer_filters_from_generators,
    prune_filters,
    push_disjunctions,
)
from .filters.joins import (
    eliminate_outer_joins,
    refuse_cartesian_products,
    reorder_joins,
    simplify_join_conditions,
)
from .filters.push_down_predicates import push_down_predicates, push_filters_late
from .filters.push_semi_joins import push_semi_joins_down
from .operators.aggregates import (
    pull_out_grouping_expressions,
    remove_constants_from_grouping,
    remove_redundant_aggregates,
    remove_repetition_from_grouping,
    speed_up_decimal_aggregates,
)
from .operators.collapse_projects import collapse_projects
from .operators.distinct import (
    eliminate_distinct_in_aggregates,
    replace_distinct,
    replace_static_deduplication,
    rewrite_distinct_aggregates,
)
from .operators.limits import (
    eliminate_limits,
    infer_window_limits,
    push_limits_down,
    push_projections_through_limits,
    push_single_limit_through_groups,
)
from .operators.local_relations import (
    convert_to_local_relations,
    optimize_limit_zero,
    propagate_empty_relations,
)
from .operators.map_keys import sort_maps_in_grouping
from .operators.names import (
    eliminate_names,
    inline_definitions,
    move_hints_to_joins,
    remove_noop_operators,
    remove_redundant_aliases,
)
from .operators.nested_fields import explode_smallest_field
from .operators.propagate_constants import propagate_equalities, propagate_foldables
from .operators.prune_columns import prune_columns
from .operators.python_functions import (
    extract_python_from_joins,
    extract_python_functions,
    push_through_python,
)
from .operators.set_operations import (
    combine_unions,
    drop_repeated_inputs,
    push_projections_through_unions,
    replace_set_operations,
)
from .operators.sorts import collapse_repartitions, eliminate_sorts
from .subqueries.decorrelate import pull_up_correlated_predicates
from .subqueries.lateral_joins import inline_lateral_joins, rewrite_lateral_joins
from .subqueries.predicate_subqueries import rewrite_predicate_subqueries
from .subqueries.scalar_subqueries import rewrite_correlated_scalar_subqueries
from .subqueries.subqueries import (
    inline_one_row_subqueries,
    merge_scalar_subqueries,
    optimize_subqueries,
    rewrite_lone_exists,
)
from .support.executor import Batch, rule

SUBQUERY = (SubqueryExpression,)

OPERATORS = (
    # First the operators move towards their places: projections into unions and below limits,
    rule(push_projections_through_unions),
    rule(push_projections_through_limits),
    # inner joins into an order that leaves none without a condition,
    rule(reorder_joins),
    # filters down (outer joins that they make inner first: more goes through an inner join),
    rule(eliminate_outer_joins),
    rule(push_down_predicates, Filter, Join),
    rule(push_semi_joins_down, Join),
    rule(simplify_join_conditions),
    rule(push_limits_down),
    rule(push_single_limit_through_groups, GlobalLimit),
    # and only then columns are pruned, for where filters end decides what is needed above them.
    rule(prune_columns, Project, Aggregate, Expand, Join),
    rule(explode_smallest_field),
    rule(collapse_repartitions),
    # Pruning leaves adjacent projections.
    rule(collapse_projects),
    rule(eliminate_limits),
    rule(combine_unions),
    # Constants are put where they are used before expressions are folded.
    rule(propagate_equalities),
    rule(propagate_foldables, Project, Aggregate),
    rule(simplify_comparisons_below_null_checks, Filter),
    rule(combine_updates, uses=(UpdateFields,)),
    rule(simplify_expressions),
    # Needs folded conditions, makes others foldable in the next round.
    rule(replace_null_with_false),
    # Needs simple conditions: `true` goes, known conjuncts go.
    rule(prune_filters),
    rule(rewrite_correlated_scalar_subqueries, uses=SUBQUERY),
    # Last, what the others left without a purpose.
    rule(remove_redundant_aliases, Project, Aggregate),
    rule(remove_redundant_aggregates),
    rule(remove_noop_operators),
)

INFERENCE = Batch(
    "infer filters",
    (
        # A generator's filter is subject to the second rule, too.
        rule(infer_filters_from_generators),
        rule(infer_filters_from_constraints, Filter, Join),
    ),
    once=True,
)

FINISH = Batch(
    "finish",
    (
        # Whatever could be folded or pruned has been by now.
        rule(refuse_failing_constants),
        # Sorts stay until here: limits over sorts are planned together.
        rule(eliminate_sorts, Sort),
        # Not earlier: other rules know sums of decimals, not sums of longs.
        rule(speed_up_decimal_aggregates),
        # After that rule: it may change what is distinct.
        rule(rewrite_distinct_aggregates),
        # What was pushed down to constant rows is computed now.
        rule(convert_to_local_relations),
        rule(propagate_empty_relations),
    ),
    once=True,
)

DISJUNCTIONS = (
    Batch("disjunctions", (rule(push_disjunctions),), once=True),
    Batch("filters of disjunctions", (rule(push_down_predicates, Filter, Join),)),
)

BATCHES = (
    Batch(
        "finish analysis",
        (
            # A definition is optimized with each query that uses it, not on its own.
            rule(inline_definitions, WithCTE),
            # To the joins before operators move.
            rule(move_hints_to_joins, ResolvedHint),
            # Names have done their work; the other rules would have to look through them.
            rule(eliminate_names),
            # Before any rule asks what may be null.
            rule(update_nullability, *CHANGE_NULLABILITY),
            rule(rewrite_lone_exists, uses=SUBQUERY),
            # Before filters are moved: what leaves a join's condition is one.
            rule(extract_python_from_joins, uses=(PythonUDF,)),
            # Definitions before grouping expressions are compared with the select list.
            rule(replace_expressions),
            rule(pull_out_grouping_expressions),
            # Needs keys that are columns.
            rule(sort_maps_in_grouping, Aggregate),
            # May add an operator below what the rule before made.
            rule(pull_out_common_expressions, uses=(Common,)),
            # Before distinct aggregates would have to be rewritten.
            rule(eliminate_distinct_in_aggregates),
        ),
        once=True,
    ),
    Batch(
        "unions and emptiness",
        (
            # Early and cheap: less is left for all others.
            rule(remove_noop_operators),
            rule(combine_unions),
            rule(drop_repeated_inputs),
            rule(optimize_limit_zero),
            rule(convert_to_local_relations),
            rule(propagate_empty_relations),
        ),
        once=True,
    ),
    Batch(
        "correlated subqueries",
        (
            rule(inline_one_row_subqueries, uses=SUBQUERY),
            rule(inline_lateral_joins),
            # While a subquery's filters are as they were written.
            rule(pull_up_correlated_predicates, uses=SUBQUERY),
            rule(optimize_subqueries, uses=SUBQUERY),
            # Optimized, more of them read nothing.
            rule(inline_one_row_subqueries, uses=SUBQUERY),
            rule(rewrite_lateral_joins),
        ),
        once=True,
    ),
    Batch(
        "replace operators",
        (
            # DISTINCT comes of these as well.
            rule(replace_set_operations),
            rule(replace_distinct),
            rule(replace_static_deduplication, Deduplicate),
            # DISTINCT's aggregate may have constant keys as well, but these are columns by now.
            rule(remove_constants_from_grouping),
            rule(remove_repetition_from_grouping),
        ),
        once=True,
    ),
    Batch("operators", OPERATORS),
    INFERENCE,
    # Inferred filters move and simplify as all others do; without any the plan is as it was.
    Batch("operators after inferring filters", OPERATORS, after=(INFERENCE,)),
    # Filters besides those of conditions' conjuncts; the condition is as simple as it gets by now.
    *DISJUNCTIONS,
    # What came down may be the condition of a join below.
    *DISJUNCTIONS,
    FINISH,
    # Plans at rest without subqueries are left alone.
    Batch(
        "rewrite subqueries",
        (
            rule(rewrite_predicate_subqueries, uses=SUBQUERY),
            # The joins that it makes are put in order with what is around them.
            rule(push_down_predicates, Filter, Join),
            rule(push_limits_down),
            rule(prune_columns, Project, Aggregate, Expand, Join),
            rule(collapse_projects),
            rule(remove_redundant_aliases, Project, Aggregate),
            rule(remove_noop_operators),
        ),
        once=True,
        after=(FINISH,),
        or_uses=SUBQUERY,
    ),
    # Filters that these joins left over the values of outer columns.
    Batch("filters", (rule(push_down_predicates, Filter),)),
    # No filter moves any more.
    Batch("clean filters", (rule(clean_filters),), once=True),
    # Fields are taken out of them by now.
    Batch("updates of structs", (rule(replace_updates, uses=(UpdateFields,)),), once=True),
    Batch(
        "window limits",
        (
            # Filters and windows are where they stay.
            rule(infer_window_limits),
            rule(push_limits_down, LocalLimit),
        ),
        once=True,
    ),
    Batch(
        "python functions",
        (
            # After all that moves or doubles expressions: each call becomes an operator's.
            rule(extract_python_functions, uses=(PythonUDF,)),
            # Fields that the joins of subqueries compare have columns of their own by now.
            rule(prune_columns, Join, uses=(GetStructField,)),
            rule(remove_noop_operators, Join, uses=(GetStructField,)),
            rule(prune_columns, EvaluatePython),
            # What the new operators stand above may now be pushed below them.
            rule(push_through_python),
            rule(push_down_predicates, EvaluatePython),
            rule(push_filters_late, Filter),
            rule(remove_noop_operators, EvaluatePython),
        ),
        once=True,
    ),
    # No join gets a condition any more.
    Batch("products", (rule(refuse_cartesian_products, Join),), once=True),
    # What subqueries have in common shows when they and the query around them are at rest.
    Batch(
        "merge subqueries",
        (rule(merge_scalar_subqueries, uses=SUBQUERY),),
        once=True,
        whole=True,
    ),
)
