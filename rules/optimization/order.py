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
    Generate,
    GlobalLimit,
    Join,
    LocalLimit,
    Project,
    Sort,
)
from ...planner.model.plans.python_operators import EvaluatePython
from ...planner.model.plans.relations import WithCTE
from .expressions import (
    comparisons,
    failing_constants,
    nulls,
    replace_expressions,
    simplify,
    structs,
)
from .filters import infer_filters, joins, push_down_predicates, push_semi_joins
from .operators import (
    aggregates,
    collapse_projects,
    distinct,
    limits,
    local_relations,
    map_keys,
    names,
    nested_fields,
    propagate_constants,
    prune_columns,
    python_functions,
    set_operations,
    sorts,
)
from .subqueries import (
    decorrelate,
    lateral_joins,
    predicate_subqueries,
    scalar_subqueries,
    subqueries,
)
from .support.executor import Batch, rule

SUBQUERY = (SubqueryExpression,)

OPERATORS = (
    # First the operators move towards their places: projections into unions and below limits,
    rule(set_operations.push_projections_through_unions),
    rule(limits.push_projections_through_limits),
    # inner joins into an order that leaves none without a condition,
    rule(joins.reorder_joins),
    # filters down (outer joins that they make inner first: more goes through an inner join),
    rule(joins.eliminate_outer_joins),
    rule(push_down_predicates.push_down_predicates, Filter, Join),
    rule(push_semi_joins.push_semi_joins_down, Join),
    rule(joins.simplify_join_conditions),
    rule(limits.push_limits_down),
    rule(limits.push_single_limit_through_groups, GlobalLimit),
    # and only then columns are pruned, for where filters end decides what is needed above them.
    rule(prune_columns.prune_columns, Project, Aggregate, Expand, Generate, Join),
    rule(nested_fields.explode_smallest_field),
    rule(sorts.collapse_repartitions),
    # Pruning leaves adjacent projections.
    rule(collapse_projects.collapse_projects),
    rule(limits.eliminate_limits),
    rule(set_operations.combine_unions),
    # Constants are put where they are used before expressions are folded.
    rule(propagate_constants.propagate_equalities),
    rule(propagate_constants.propagate_foldables, Project, Aggregate),
    rule(comparisons.simplify_comparisons_below_null_checks, Filter),
    rule(structs.combine_updates, uses=(UpdateFields,)),
    rule(simplify.simplify_expressions),
    # Needs folded conditions, makes others foldable in the next round.
    rule(nulls.replace_null_with_false),
    # Needs simple conditions: `true` goes, known conjuncts go.
    rule(infer_filters.prune_filters),
    rule(scalar_subqueries.rewrite_correlated_scalar_subqueries, uses=SUBQUERY),
    # Last, what the others left without a purpose.
    rule(names.remove_redundant_aliases, Project, Aggregate),
    rule(aggregates.remove_redundant_aggregates),
    rule(names.remove_noop_operators),
)

INFERENCE = Batch(
    "infer filters",
    (
        # A generator's filter is subject to the second rule, too.
        rule(infer_filters.infer_filters_from_generators),
        rule(infer_filters.infer_filters_from_constraints, Filter, Join),
    ),
    once=True,
)

FINISH = Batch(
    "finish",
    (
        # Whatever could be folded or pruned has been by now.
        rule(failing_constants.refuse_failing_constants),
        # Sorts stay until here: limits over sorts are planned together.
        rule(sorts.eliminate_sorts, Sort),
        # Not earlier: other rules know sums of decimals, not sums of longs.
        rule(aggregates.speed_up_decimal_aggregates),
        # After that rule: it may change what is distinct.
        rule(distinct.rewrite_distinct_aggregates),
        # What was pushed down to constant rows is computed now.
        rule(local_relations.convert_to_local_relations),
        rule(local_relations.propagate_empty_relations),
        # A join that has become another one pads no column any more.
        rule(nulls.update_nullability, *nulls.CHANGE_NULLABILITY),
    ),
    once=True,
)

DISJUNCTIONS = (
    Batch("disjunctions", (rule(infer_filters.push_disjunctions),), once=True),
    Batch(
        "filters of disjunctions", (rule(push_down_predicates.push_down_predicates, Filter, Join),)
    ),
)

BATCHES = (
    Batch(
        "finish analysis",
        (
            # A definition is optimized with each query that uses it, not on its own.
            rule(names.inline_definitions, WithCTE),
            # To the joins before operators move.
            rule(names.move_hints_to_joins, ResolvedHint),
            # Names have done their work; the other rules would have to look through them.
            rule(names.eliminate_names),
            # Before any rule asks what may be null.
            rule(nulls.update_nullability, *nulls.CHANGE_NULLABILITY),
            rule(subqueries.rewrite_lone_exists, uses=SUBQUERY),
            # Before filters are moved: what leaves a join's condition is one.
            rule(python_functions.extract_python_from_joins, uses=(PythonUDF,)),
            # Definitions before grouping expressions are compared with the select list.
            rule(replace_expressions.replace_expressions),
            rule(aggregates.pull_out_grouping_expressions),
            # Needs keys that are columns.
            rule(map_keys.sort_maps_in_grouping, Aggregate),
            # May add an operator below what the rule before made.
            rule(
                replace_expressions.pull_out_common_expressions,
                uses=(replace_expressions.Common,),
            ),
            # Before distinct aggregates would have to be rewritten.
            rule(distinct.eliminate_distinct_in_aggregates),
        ),
        once=True,
    ),
    Batch(
        "unions and emptiness",
        (
            # Early and cheap: less is left for all others.
            rule(names.remove_noop_operators),
            rule(set_operations.combine_unions),
            rule(set_operations.drop_repeated_inputs),
            rule(local_relations.optimize_limit_zero),
            rule(local_relations.convert_to_local_relations),
            rule(local_relations.propagate_empty_relations),
            rule(nulls.update_nullability, *nulls.CHANGE_NULLABILITY),
        ),
        once=True,
    ),
    Batch(
        "correlated subqueries",
        (
            rule(subqueries.inline_one_row_subqueries, uses=SUBQUERY),
            rule(lateral_joins.inline_lateral_joins),
            # While a subquery's filters are as they were written.
            rule(decorrelate.pull_up_correlated_predicates, uses=SUBQUERY),
            rule(subqueries.optimize_subqueries, uses=SUBQUERY),
            # Optimized, more of them read nothing.
            rule(subqueries.inline_one_row_subqueries, uses=SUBQUERY),
            rule(lateral_joins.rewrite_lateral_joins),
        ),
        once=True,
    ),
    Batch(
        "replace operators",
        (
            # DISTINCT comes of these as well.
            rule(set_operations.replace_set_operations),
            rule(distinct.replace_distinct),
            rule(distinct.replace_static_deduplication, Deduplicate),
            # DISTINCT's aggregate may have constant keys as well, but these are columns by now.
            rule(aggregates.remove_constants_from_grouping),
            rule(aggregates.remove_repetition_from_grouping),
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
            rule(predicate_subqueries.rewrite_predicate_subqueries, uses=SUBQUERY),
            # The joins that it makes are put in order with what is around them.
            rule(push_down_predicates.push_down_predicates, Filter, Join),
            rule(limits.push_limits_down),
            rule(prune_columns.prune_columns, Project, Aggregate, Expand, Generate, Join),
            rule(collapse_projects.collapse_projects),
            rule(names.remove_redundant_aliases, Project, Aggregate),
            rule(names.remove_noop_operators),
        ),
        once=True,
        after=(FINISH,),
        or_uses=SUBQUERY,
    ),
    # Filters that these joins left over the values of outer columns.
    Batch("filters", (rule(push_down_predicates.push_down_predicates, Filter),)),
    # No filter moves any more.
    Batch("clean filters", (rule(infer_filters.clean_filters),), once=True),
    # Fields are taken out of them by now.
    Batch("updates of structs", (rule(structs.replace_updates, uses=(UpdateFields,)),), once=True),
    Batch(
        "window limits",
        (
            # Filters and windows are where they stay.
            rule(limits.infer_window_limits),
            rule(limits.push_limits_down, LocalLimit),
        ),
        once=True,
    ),
    Batch(
        "python functions",
        (
            # After all that moves or doubles expressions: each call becomes an operator's.
            rule(python_functions.extract_python_functions, uses=(PythonUDF,)),
            # Fields that the joins of subqueries compare have columns of their own by now.
            rule(prune_columns.prune_columns, Join, uses=(GetStructField,)),
            rule(names.remove_noop_operators, Join, uses=(GetStructField,)),
            rule(prune_columns.prune_columns, EvaluatePython),
            # What the new operators stand above may now be pushed below them.
            rule(python_functions.push_through_python),
            rule(push_down_predicates.push_down_predicates, EvaluatePython),
            rule(push_down_predicates.push_filters_late, Filter),
            rule(names.remove_noop_operators, EvaluatePython),
        ),
        once=True,
    ),
    # No join gets a condition any more.
    Batch("products", (rule(joins.refuse_cartesian_products, Join),), once=True),
    # What subqueries have in common shows when they and the query around them are at rest.
    Batch(
        "merge subqueries",
        (rule(subqueries.merge_scalar_subqueries, uses=SUBQUERY),),
        once=True,
        whole=True,
    ),
)
