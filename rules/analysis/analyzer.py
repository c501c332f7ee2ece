"""The walk over a plan: children first, then each operator over its resolved children.

An operator whose child could not be resolved stays as it is; the checks then raise the error of the
deepest operator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from ...planner.model.expressions.core import Call, Cast, Expression, Origin, SortOrder
from ...planner.model.expressions.subqueries import (
    Exists,
    InSubquery,
    LateralJoin,
    LateralSubquery,
    SubqueryExpression,
    outer_references,
)
from ...planner.model.expressions.unresolved import (
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedOrdinal,
)
from ...planner.model.plans.hints import UnresolvedHint
from ...planner.model.plans.logical import (
    Aggregate,
    CollectMetrics,
    Deduplicate,
    Distinct,
    EventTimeWatermark,
    Expand,
    Filter,
    Generate,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    Project,
    ReturnAnswer,
    Sort,
    Union,
    UnresolvedHaving,
    UnresolvedQualify,
)
from ...planner.model.plans.partitions import PARTITION_HINTS, RepartitionByExpression
from ...planner.model.plans.pivot import UnresolvedPivot, UnresolvedUnpivot
from ...planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ...planner.model.plans.relations import (
    AnalyzedPlan,
    CTERelationDef,
    PipeOperator,
    SubqueryAlias,
    UnresolvedInlineTable,
    UnresolvedRelation,
    UnresolvedTableFunction,
    UnresolvedWith,
    View,
    WithCTE,
)
from ...planner.model.plans.set_operations import SetOperation
from ...planner.model.registry import find
from ...planner.model.schemas.types import BOOLEAN
from ...planner.model.text.logical_text import tree_text
from ...planner.model.text.quoting import to_sql_id
from ...planner.model.tree import replace
from ..common.fresh_ids import keep_apart, keep_subqueries_apart, reference
from .context import Context, Scope
from .expressions.expressions import Resolver
from .failures import catalyst_class, failure
from .grouping.grouping_sets import with_ordinals
from .names.hidden_columns import cut_back, with_hidden_columns, with_stars_of
from .operators import (
    resolve_deduplicate,
    resolve_hint,
    resolve_metrics,
    resolve_partition_hint,
    resolve_watermark,
)
from .refusals.misplaced import check_function_names
from .relations.pivot import resolve_pivot, resolve_unpivot
from .relations.relations import (
    rename_columns,
    resolve_inline_table,
    resolve_join,
    resolve_relation,
    resolve_table_function,
)
from .relations.unions import widen_sides, widen_union
from .selects.missing import (
    refuse_without_sets,
    resolve_over,
    resolve_qualify,
    resolve_where,
    restored,
)
from .selects.selects import (
    generate_node,
    generators_in,
    is_generator,
    placed_generator,
    resolve_aggregate,
    resolve_project,
)
from .windows.over import refuse_window_in_where
from .windows.time_windows import expand_windows

Names = dict[str, CTERelationDef]


def _is_predicate(condition: Expression) -> bool:
    """Whether the condition's form says that it is a boolean; HAVING casts any other."""
    if isinstance(condition, UnresolvedFunction):
        spec = find(condition.name.lower())
        return spec is not None and (spec.predicate or spec.name == "exists")
    return isinstance(condition, InSubquery | Exists)


@dataclass
class Analyzer:
    """Resolves one query's plan."""

    context: Context
    definitions: list[CTERelationDef] = field(default_factory=list)
    ids: count[int] = field(default_factory=count)

    names: Names = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.context = replace(self.context, analyze_subquery=self.analyze_subquery)

    def analyze_subquery(self, subquery: SubqueryExpression, scope: Scope) -> SubqueryExpression:
        """A subquery by itself, and if names are left over with the columns around it."""
        known = len(self.definitions)
        alone = self._within(subquery, None)
        if alone.resolved:
            return replace(subquery, plan=keep_subqueries_apart(alone))
        del self.definitions[known:]
        plan = self._within(subquery, scope)
        plan = keep_subqueries_apart(plan)
        return replace(subquery, plan=plan, outer=outer_references(plan))

    def _within(self, subquery: SubqueryExpression, scope: Scope | None) -> LogicalPlan:
        inner = Analyzer(
            replace(self.context, outer=scope, at_once=False, whole=subquery.plan.origin),
            definitions=self.definitions,
            ids=self.ids,
        )
        return inner.visit(subquery.plan, self.names)

    def analyze(self, plan: LogicalPlan) -> LogicalPlan:
        """The plan resolved as far as it can be."""
        check_function_names(plan)
        self.context = replace(self.context, whole=plan.origin)
        resolved = self.visit(plan, {})
        if not self.definitions:
            return resolved
        return WithCTE(definitions=tuple(self.definitions), child=resolved)

    def visit(self, plan: LogicalPlan, names: Names) -> LogicalPlan:
        """A plan with the names of WITH around it, which its subqueries may use too."""
        before, self.names = self.names, names
        try:
            return self._visit(plan, names)
        finally:
            self.names = before

    def _visit(self, plan: LogicalPlan, names: Names) -> LogicalPlan:
        match plan:
            case UnresolvedRelation():
                return self._relation(plan, names)
            case UnresolvedTableFunction():
                return resolve_table_function(plan, self.context)
            case UnresolvedInlineTable():
                return resolve_inline_table(plan, self.context)
            case AnalyzedPlan():
                return plan.child
            case UnresolvedWith():
                return self._with(plan, names)
            case Join():
                left, right = self.visit(plan.left, names), self.visit(plan.right, names)
                return resolve_join(replace(plan, left=left, right=right), self.context)
            case Union():
                return self._union(plan, names)
            case SetOperation():
                left, right = self.visit(plan.left, names), self.visit(plan.right, names)
                return widen_sides(replace(plan, left=left, right=right), self.context)
            case UnresolvedHint():
                return self._hint(plan, self.visit(plan.child, names))
            case UnaryNode():
                child = self.visit(plan.child, names)
                if not child.resolved:
                    return replace(plan, child=child)
                return self._over(plan, child)
        return plan.map_children(lambda child: self.visit(child, names))

    def _hint(self, plan: UnresolvedHint, child: LogicalPlan) -> LogicalPlan:
        if self.context.conf.flag("spark.sql.optimizer.disableHints"):
            return child
        if plan.name.upper() not in PARTITION_HINTS:
            return resolve_hint(plan, child)
        if not child.resolved:
            return replace(plan, child=child)
        return resolve_partition_hint(plan, child, self.context)

    # ------------------------------------------------------------------------------- relations

    def _relation(self, plan: UnresolvedRelation, names: Names) -> LogicalPlan:
        definition = names.get(plan.parts[0].lower()) if len(plan.parts) == 1 else None
        if definition is None:
            return resolve_relation(plan, self.context)
        if not definition.child.resolved:
            return plan
        alias = definition.child
        assert isinstance(alias, SubqueryAlias)
        return SubqueryAlias(alias=alias.alias, child=reference(definition))

    def _with(self, plan: UnresolvedWith, names: Names) -> LogicalPlan:
        known = dict(names)
        for name, body in plan.definitions:
            resolved = self.visit(body, known)
            if not isinstance(resolved, SubqueryAlias):
                resolved = SubqueryAlias(alias=name, child=resolved)
            definition = CTERelationDef(cte_id=next(self.ids), child=resolved)
            self.definitions.append(definition)
            known[name.lower()] = definition
        return self.visit(plan.child, known)

    def _union(self, plan: Union, names: Names) -> LogicalPlan:
        inputs = tuple(self.visit(branch, names) for branch in plan.inputs)
        plan = replace(plan, inputs=inputs)
        if not all(branch.resolved for branch in inputs):
            return plan
        return widen_union(plan, self.context)

    # --------------------------------------------------------------------------------- operators

    def _over(self, plan: UnaryNode, child: LogicalPlan) -> LogicalPlan:
        """The operator over its child, with the hidden columns that it names."""
        reaching, context = with_hidden_columns(plan.expressions, child, self.context)
        if reaching is child:
            return self._unary(plan, child)
        named = with_stars_of(plan, child)
        assert isinstance(named, UnaryNode)
        inside = replace(self, context=context)
        return cut_back(inside._unary(named, reaching), reaching.output_ids - child.output_ids)

    def _unary(self, plan: UnaryNode, child: LogicalPlan) -> LogicalPlan:
        match plan:
            case Project():
                return resolve_project(plan, child, self.context)
            case Aggregate():
                return resolve_aggregate(plan, child, self.context)
            case SubqueryAlias():
                return rename_columns(replace(plan, child=child))
            case Filter():
                return self._filter(plan, child)
            case UnresolvedHaving(condition=condition):
                return self._having(plan, condition, child)
            case UnresolvedQualify(condition=condition):
                condition = self._as_condition(condition, plan.origin)
                return resolve_qualify(replace(plan, condition=condition), child, self.context)
            case Sort():
                return self._sort(plan, child)
            case EventTimeWatermark():
                return resolve_watermark(plan, child, self.context)
            case Deduplicate():
                return resolve_deduplicate(plan, child, self.context)
            case CollectMetrics():
                return resolve_metrics(replace(plan, child=child), self._resolver(child))
            case Generate():
                return self._generate(plan, child)
            case UnresolvedPivot():
                return resolve_pivot(plan, child, self.context)
            case UnresolvedUnpivot():
                return resolve_unpivot(plan, child, self.context)
            case LateralJoin():
                return self._lateral_join(plan, child)
            case GlobalLimit() | LocalLimit() | Offset():
                resolver = self._resolver(child)
                return replace(plan, child=child).map_expressions(resolver.resolve)
            case RepartitionByExpression(by=by):
                resolved, below = resolve_over(by, child, self.context)
                return restored(replace(plan, by=resolved, child=below), child)
            case Distinct() | View() | PipeOperator() | ReturnAnswer() | Expand():
                return replace(plan, child=child)
        return replace(plan, child=child).map_expressions(self._resolver(child).resolve)

    def _resolver(self, child: LogicalPlan) -> Resolver:
        return Resolver(child.output, self.context)

    def _filter(self, plan: Filter, child: LogicalPlan) -> LogicalPlan:
        refuse_without_sets((plan.condition,), child, None, self.context)
        condition = self._resolver(child).resolve(plan.condition)
        reached = resolve_where(plan.condition, condition, child, self.context)
        if reached is not None:
            found, below = reached
            return restored(replace(plan, condition=found, child=below), child)
        draft = replace(plan, condition=condition, child=child)
        refuse_window_in_where(condition)
        if generators_in(condition):
            line = tree_text(draft).split("\n")[0]
            raise failure("UNSUPPORTED_GENERATOR.OUTSIDE_SELECT", plan=line)
        expanded, below = expand_windows(draft, child, self.context)
        if below is child:
            return draft
        assert isinstance(expanded, Filter)
        condition = self._resolver(below).resolve(expanded.condition)
        return replace(expanded, condition=condition, child=below)

    def _having(
        self, plan: UnresolvedHaving, condition: Expression, child: LogicalPlan
    ) -> LogicalPlan:
        condition = self._as_condition(condition, plan.origin)
        (resolved,), below = resolve_over((condition,), child, self.context, input_first=True)
        if not resolved.resolved:
            return replace(plan, condition=resolved, child=below)
        return restored(Filter(condition=resolved, child=below, origin=plan.origin), child)

    def _as_condition(self, condition: Expression, origin: Origin | None) -> Expression:
        if _is_predicate(condition):
            return condition
        return Cast(
            child=condition, type_=BOOLEAN, mode=self.context.mode, implicit=True, origin=origin
        )

    def _sort(self, plan: Sort, child: LogicalPlan) -> LogicalPlan:
        plan = self._by_all(plan, child)
        enabled = self.context.conf.flag("spark.sql.orderByOrdinal")
        keys = with_ordinals(tuple(order.child for order in plan.order), enabled)
        placed = tuple(self._at_position(key, child) for key in keys)
        resolved, below = resolve_over(placed, child, self.context, fields=False)
        order = tuple(replace(o, child=key) for o, key in zip(plan.order, resolved, strict=True))
        if not all(o.resolved for o in order):
            return replace(plan, order=order, child=child)
        return restored(replace(plan, order=order, child=below), child)

    def _by_all(self, plan: Sort, child: LogicalPlan) -> Sort:
        """ORDER BY ALL: by every column of the select list, unless one is called so."""
        match plan.order:
            case (SortOrder(child=UnresolvedAttribute(parts=(name,))) as only,) if (
                name.upper() == "ALL" and not self.context.scope(child.output).named(name)
            ):
                return replace(plan, order=tuple(replace(only, child=a) for a in child.output))
        return plan

    def _at_position(self, key: Expression, child: LogicalPlan) -> Expression:
        if not isinstance(key, UnresolvedOrdinal):
            return key
        output = child.output
        if 1 <= key.ordinal <= len(output):
            return output[key.ordinal - 1]
        raise failure(
            "ORDER_BY_POS_OUT_OF_RANGE", origin=key.origin, index=key.ordinal, size=len(output)
        )

    def _lateral_join(self, plan: LateralJoin, child: LogicalPlan) -> LogicalPlan:
        query = self.analyze_subquery(plan.query, self.context.scope(child.output))
        assert isinstance(query, LateralSubquery)
        if query.plan.resolved:
            query = replace(query, plan=keep_apart(child, query.plan))
        plan = replace(plan, query=query, child=child)
        if plan.condition is None or not query.plan.resolved:
            return plan
        columns = (*child.output, *query.plan.output)
        condition = Resolver(columns, self.context).resolve(plan.condition)
        return replace(plan, condition=condition)

    def _generate(self, plan: Generate, child: LogicalPlan) -> LogicalPlan:
        generator = self._resolver(child).resolve(placed_generator(plan))
        names = tuple(e.parts[0] for e in plan.generated if isinstance(e, UnresolvedAttribute))
        if not generator.resolved or not isinstance(generator, Call):
            return replace(plan, generator=generator, child=child)
        if not is_generator(generator):
            raise failure(
                "UNSUPPORTED_GENERATOR.NOT_GENERATOR",
                origin=plan.origin,
                functionName=to_sql_id(generator.name),
                classCanonicalName=catalyst_class(generator.name.title().replace("_", "")),
            )
        return generate_node(
            generator, names, child, outer=plan.outer, alias=plan.alias, origin=plan.origin
        )
