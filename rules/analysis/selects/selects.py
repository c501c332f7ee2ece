"""Select lists: stars, expressions, windows, generators, names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    Origin,
    without_alias,
)
from ....planner.model.expressions.unresolved import (
    MultiAlias,
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedOrdinal,
    UnresolvedStar,
)
from ....planner.model.plans.logical import Aggregate, Generate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import StructType
from ....planner.model.text.quoting import to_sql_expr
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ..context import Context
from ..expressions.expressions import Resolver
from ..failures import failure
from ..grouping.grouping_sets import (
    expand_grouping_sets,
    grouping_id,
    has_aggregate,
    resolve_grouping,
    sets_of,
    with_grouping_functions,
    with_ordinals,
)
from ..names.names import named
from ..names.stars import expand_star
from ..windows.over import extract_windows
from ..windows.time_windows import expand_windows
from .lateral import expand_lateral, refer_to_aliases, with_positions, without_pipe


def resolve_project(plan: Project, child: LogicalPlan, context: Context) -> LogicalPlan:
    """SELECT without GROUP BY: a Project, or an Aggregate if aggregate functions stand in it."""
    items = resolve_items(plan.project_list, Resolver(child.output, context))
    draft, child = _over_windows(replace(plan, project_list=items, child=child), child, context)
    assert isinstance(draft, Project)
    items = refer_to_aliases(draft.project_list, Resolver(child.output, context))
    if any(has_aggregate(item) for item in items):

        def aggregate(items: tuple[Expression, ...]) -> LogicalPlan:
            named_items = tuple(named(item) for item in items)
            aggregated = Aggregate(
                grouping=(), aggregates=named_items, child=child, origin=plan.origin
            )
            return extract_windows(expand_lateral(aggregated))

        return _below_generators(items, aggregate, context)
    items, child = _generators(items, child)
    named_items = tuple(named(item) for item in items)
    return extract_windows(expand_lateral(replace(plan, project_list=named_items, child=child)))


def resolve_aggregate(plan: Aggregate, child: LogicalPlan, context: Context) -> LogicalPlan:
    """SELECT with GROUP BY."""
    resolver = Resolver(child.output, context)
    written = with_ordinals(plan.grouping, context.conf.flag("spark.sql.groupByOrdinal"))
    _refuse_star_with_positions(plan.aggregates, written)
    grouping = tuple(resolver.resolve(item) for item in written)
    entries, identity = plan.aggregates, grouping_id(context.conf)
    if plan.grouping_analytics is not None:
        entries = with_grouping_functions(entries, written, resolver, identity)
    items = resolve_items(entries, resolver)
    draft = Aggregate(grouping=grouping, aggregates=items, child=child, origin=plan.origin)
    over, child = _over_windows(draft, child, context)
    assert isinstance(over, Aggregate)
    resolver = Resolver(child.output, context)

    def aggregate(items: tuple[Expression, ...]) -> LogicalPlan:
        resolved = resolve_grouping(replace(over, aggregates=items), context)
        if plan.grouping_analytics is not None and resolved.resolved:
            resolved = expand_grouping_sets(resolved, sets_of(plan), identity)
        return extract_windows(expand_lateral(resolved))

    items = with_positions(over.aggregates, child.output)
    return _below_generators(refer_to_aliases(items, resolver), aggregate, context)


def _refuse_star_with_positions(
    items: Sequence[Expression], grouping: Sequence[Expression]
) -> None:
    stars = any(item.holds(UnresolvedStar) for item in items)
    if stars and any(isinstance(item, UnresolvedOrdinal) for item in grouping):
        raise failure("STAR_GROUP_BY_POS")


def _over_windows(
    draft: LogicalPlan, child: LogicalPlan, context: Context
) -> tuple[LogicalPlan, LogicalPlan]:
    """The operator over the windows it uses; their columns may be named in it."""
    while True:
        expanded, below = expand_windows(draft, child, context)
        if below is child:
            return draft, child
        child = below
        resolver = Resolver(child.output, context)
        match expanded:
            case Aggregate(grouping=grouping, aggregates=items):
                draft = replace(
                    expanded,
                    grouping=tuple(resolver.resolve(item) for item in grouping),
                    aggregates=resolve_items(items, resolver),
                    child=child,
                )
            case Project(project_list=items):
                draft = replace(expanded, project_list=resolve_items(items, resolver), child=child)


def resolve_items(items: tuple[Expression, ...], resolver: Resolver) -> tuple[Expression, ...]:
    """The entries of a select list, stars spread out."""
    resolved: list[Expression] = []
    for item in items:
        if isinstance(item, UnresolvedStar):
            columns = expand_star(item, resolver)
            resolved.extend(_item(c, resolver) if c is item.replacement else c for c in columns)
        else:
            resolved.append(_item(item, resolver))
    return tuple(resolved)


def _item(item: Expression, resolver: Resolver) -> Expression:
    inner = item.child if isinstance(item, UnresolvedAlias) else item
    if not isinstance(inner, UnresolvedAttribute):
        return without_pipe(resolver.resolve(item))
    # A field is named by the last part of the name as written, not by its printed form.
    found = resolver.column(inner.parts, inner)
    if found is None:
        return item
    if isinstance(found, AttributeReference):
        return found
    name = inner.parts[-1] if len(inner.parts) > 1 else pretty(found)
    return Alias(child=found, name=name, origin=inner.origin)


# ----------------------------------------------------------------------------------- generators


def _generators(
    items: tuple[Expression, ...], child: LogicalPlan
) -> tuple[tuple[Expression, ...], LogicalPlan]:
    """Put a Generate below for every generator of the list; its columns take its place."""
    calls = [_generator_of(item) for item in items]
    for call in calls:
        refuse_nested_generator(call)
    if not any(is_generator(call) for call in calls) and not any(
        isinstance(item, MultiAlias) for item in items
    ):
        return items, child
    spread: list[Expression] = []
    for item in items:
        generator = _generator_of(item)
        if not isinstance(generator, Call) or not is_generator(generator):
            if isinstance(item, MultiAlias) and generator.resolved:
                raise not_several_columns(item)
            spread.append(item)
            continue
        names = _names(item)
        generate = generate_node(generator, names, child, outer=False, alias=None)
        child = generate
        spread.extend(generate.generated)
    return tuple(spread), child


def _below_generators(
    items: tuple[Expression, ...],
    aggregate: Callable[[tuple[Expression, ...]], LogicalPlan],
    context: Context,
) -> LogicalPlan:
    """The aggregation that `aggregate` makes of a select list, generators of its results above.

    `explode(collect_list(x))` -> a Generate over an Aggregate of `collect_list(x)`.
    """
    made_here = [call for call in map(_generator_of, items) if is_generator(call)]
    if not made_here:
        return aggregate(items)
    if len(made_here) > 1:
        shown = ", ".join(f'"{pretty(call)}"' for call in made_here)
        raise failure("UNSUPPORTED_GENERATOR.MULTI_GENERATOR", num=len(made_here), generators=shown)
    below: list[Expression] = []

    def taken(column: Expression) -> int:
        below.append(column)
        return len(below) - 1

    above: list[int | tuple[Expression, Call, list[int | Expression]]] = []
    for item in items:
        call = _generator_of(item)
        refuse_nested_generator(call)
        if isinstance(call, Call) and is_generator(call):
            parts = [
                part if part.foldable else taken(Alias(child=part, name=f"_gen_input_{i}"))
                for i, part in enumerate(call.arguments)
            ]
            above.append((item, call, parts))
        else:
            above.append(taken(named(item)))
    child = aggregate(tuple(below))
    if not child.resolved:
        return child
    results: list[Expression] = []
    for place in above:
        if isinstance(place, int):
            results.append(child.output[place])
        else:
            item, call, parts = place
            columns = (child.output[p] if isinstance(p, int) else p for p in parts)
            new = replace(call, arguments=tuple(columns))
            results.append(new if item is call else replace(item, child=new))  # type: ignore[call-arg]
    generated, child = _generators(tuple(results), child)
    return Project(project_list=tuple(map(named, generated)), child=child)


def not_several_columns(item: MultiAlias) -> AnalysisError:
    """Several names for an expression that gives one column."""
    return failure(
        "MULTI_ALIAS_WITHOUT_GENERATOR",
        origin=item.origin,
        names=", ".join(item.names),
        expr=to_sql_expr(item.child),
    )


def _generator_of(item: Expression) -> Expression:
    if isinstance(item, UnresolvedAlias | MultiAlias):
        return item.child
    return without_alias(item)


def is_generator(expression: Expression) -> bool:
    """Whether the expression is a valid call of explode or the like."""
    return _is_generator_call(expression) and expression.resolved


def _is_generator_call(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.spec.kind == "generator"


def generators_in(expression: Expression) -> bool:
    """Whether a generator is called anywhere in the expression."""
    return expression.exists(_is_generator_call)


def refuse_nested_generator(expression: Expression) -> None:
    """A generator makes rows: it cannot be an argument.

    Raises:
        AnalysisError: it is one.
    """
    if any(generators_in(child) for child in expression.children):
        raise failure(
            "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS", expression=to_sql_expr(expression)
        )


def _names(item: Expression) -> tuple[str, ...]:
    if isinstance(item, MultiAlias):
        return item.names
    return (item.name,) if isinstance(item, Alias) else ()


def placed_generator(plan: Generate) -> Expression:
    """The call of LATERAL VIEW: Spark says of it that it stands where the clause begins."""
    call = plan.generator
    if not isinstance(call, UnresolvedFunction) or plan.origin is None:
        return call
    return replace(call, origin=plan.origin)


def generate_node(
    generator: Call,
    names: tuple[str, ...],
    child: LogicalPlan,
    *,
    outer: bool,
    alias: str | None,
    origin: Origin | None = None,
) -> Generate:
    """A generator over a child with its columns, under the names given or its own.

    Raises:
        AnalysisError: more or fewer names than columns.
    """
    if generator.name.endswith("_outer"):
        generator = replace(generator, name=generator.name.removesuffix("_outer"))
        outer = True
    schema = generator.data_type
    assert isinstance(schema, StructType)
    if names and len(names) != len(schema.fields):
        raise failure(
            "UDTF_ALIAS_NUMBER_MISMATCH",
            origin=origin,
            aliasesSize=len(schema.fields),
            aliasesNames=",".join(names),
        )
    generated = tuple(
        AttributeReference(name=name, type_=f.data_type, is_nullable=f.nullable or outer)
        for name, f in zip(names or [f.name for f in schema.fields], schema.fields, strict=True)
    )
    if alias is not None:
        generated = tuple(a.with_qualifier((alias,)) for a in generated)
    return Generate(
        generator=generator,
        outer=outer,
        generated=generated,
        alias=alias,
        child=child,
        origin=origin,
    )
