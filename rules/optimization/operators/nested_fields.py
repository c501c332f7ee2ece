"""Nested fields that are used without the rest of their column; generators of such columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    GetStructField,
    LambdaVariable,
)
from ....planner.model.expressions.equality import Canonical, canonical, same
from ....planner.model.functions.build import is_item_lookup
from ....planner.model.plans.logical import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    GlobalLimit,
    Join,
    LocalLimit,
    Project,
    Sort,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.statistics import default_size
from ....planner.model.schemas.types import ArrayType, DataType, MapType, StructType
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import top_down
from ...common.types import leaf_count
from ..support import settings

_PUSH_THROUGH = (GlobalLimit, LocalLimit, Join, Sort)
Fields = dict[int, list[GetStructField]]


def alias_fields_below(node: LogicalPlan) -> LogicalPlan | None:
    """Fields get columns of their own below the operator; None if there is nothing to gain.

    `Aggregate [max(s.a)], relation(s)` -> `Aggregate [max(_extract_a)]` over
    `Project [s.a AS _extract_a]`. Only where fewer fields are used than the column has.
    """
    match node:
        case Project(child=Filter(child=below) as middle) if isinstance(below, _PUSH_THROUGH):
            expressions = (*node.project_list, middle.condition, *below.expressions)
            fields = used_fields(expressions)
        case Project(child=below) if isinstance(below, _PUSH_THROUGH):
            fields = used_fields((*node.project_list, *below.expressions))
        case Aggregate():
            fields = used_fields(node.expressions)
        case Expand():
            rows = [e for projection in node.projections for e in projection]
            fields = used_fields(rows, frozenset(a.expr_id for a in node.attributes))
        case _:
            return None
    if not fields or not settings.current().nested_fields:
        return None
    return _rewritten(node, fields)


def _rewritten(node: LogicalPlan, fields: Fields) -> LogicalPlan:
    aliases, columns = _aliases(fields)
    if isinstance(node, Project):
        below = _over_aliases(node.child, aliases, columns)
        new_list = tuple(_with_columns(e, columns) for e in node.project_list)
        return replace(node, project_list=new_list, child=below)
    return _over_aliases(node, aliases, columns)


def _aliases(
    fields: Fields,
) -> tuple[dict[int, list[Alias]], dict[Canonical, AttributeReference]]:
    aliases = {
        attribute: [Alias(child=field, name=f"_extract_{field.name}") for field in used]
        for attribute, used in fields.items()
    }
    columns = {
        canonical(alias.child): alias.to_attribute()
        for group in aliases.values()
        for alias in group
    }
    return aliases, columns


def _with_columns(
    expression: Expression, columns: dict[Canonical, AttributeReference]
) -> Expression:
    if isinstance(expression, GetStructField):
        column = columns.get(canonical(expression))
        if column is not None:
            return column
    return expression.map_children(lambda child: _with_columns(child, columns))


def _over_aliases(
    node: LogicalPlan,
    aliases: dict[int, list[Alias]],
    columns: dict[Canonical, AttributeReference],
) -> LogicalPlan:
    def below(child: LogicalPlan) -> LogicalPlan:
        items: list[Expression] = []
        for attribute in child.output:
            items.extend(aliases.get(attribute.expr_id, [attribute]))
        return Project(child=child, project_list=tuple(items))

    new = node.map_children(below)
    return new.map_expressions(lambda e: _with_columns(e, columns))


def used_fields(
    expressions: Iterable[Expression], excluded: frozenset[int] = frozenset()
) -> Fields:
    """The fields that are worth a column, by the column they are taken from."""
    whole = set(excluded)
    found: dict[int, list[GetStructField]] = {}
    types: dict[int, DataType] = {}
    for expression in expressions:
        for mention in _mentions(expression):
            if isinstance(mention, AttributeReference):
                whole.add(mention.expr_id)
            elif isinstance(mention, GetStructField) and (
                len(mention.references) == 1 and (not mention.holds(LambdaVariable))
            ):
                root = next(e for e in mention.walk() if isinstance(e, AttributeReference))
                found.setdefault(root.expr_id, []).append(mention)
                types[root.expr_id] = root.type_
    result: Fields = {}
    for attribute, fields in found.items():
        if attribute in whole:
            continue
        kept = [f for f in _without_inner(fields) if not f.holds(AggregateExpression)]
        if kept and sum(leaf_count(f.data_type) for f in kept) < leaf_count(types[attribute]):
            result[attribute] = kept
    return result


def _without_inner(fields: list[GetStructField]) -> list[GetStructField]:
    """Each field once; not `a.b.c` where `a.b` is used as well."""
    kept: dict[Canonical, GetStructField] = {}
    for field in fields:
        inside = any(
            field.child.exists(lambda e, other=other: same(e, other))  # type: ignore[misc]
            for other in fields
        )
        if not inside:
            kept.setdefault(canonical(field), field)
    return list(kept.values())


def _mentions(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, AttributeReference) or (
        isinstance(expression, GetStructField)
        and (
            isinstance(expression.child, GetStructField | AttributeReference)
            or is_item_lookup(expression.child)
        )
    ):
        yield expression
    else:
        for child in expression.children:
            yield from _mentions(child)


def alias_fields_below_generate(node: Project, generate: Generate) -> LogicalPlan | None:
    """The same below a generator; of exploded structs only the one field that is used is exploded.

    `Project [i.a], Generate explode(items) i` -> `Project [i], Generate explode(_extract_a) i`
    over `Project [items.a AS _extract_a]`.
    """
    generator = generate.generator
    if not isinstance(generator, Call) or not (
        generator.spec.collection_generator or generator.name == "stack"
    ):
        return None
    if not settings.current().exploded_fields:
        return None
    fields = used_fields((*node.project_list, *generator.arguments))
    if not fields:
        return None
    generated = frozenset().union(*(e.references for e in generate.generated))
    inside = {k: v for k, v in fields.items() if k in generated}
    outside = {k: v for k, v in fields.items() if k not in generated}
    result: LogicalPlan = _generate_rewritten(node, generate, outside) if outside else node
    source_type = generator.arguments[0].data_type
    taken = [field for used in inside.values() for field in used]
    nested = isinstance(source_type, ArrayType) and isinstance(source_type.element_type, ArrayType)
    if len(taken) == 1 and not isinstance(source_type, MapType) and not nested:
        assert isinstance(result, Project)
        return _explode_field(result, taken[0])
    return None if result is node else result


def alias_fields_of_generator(generate: Generate) -> LogicalPlan | None:
    """The same for a generator's own fields, of columns that nothing above it uses.

    `Generate explode(s.a)` -> `Generate explode(_extract_a)` over `Project [s.a AS _extract_a]`.
    """
    generator = generate.generator
    if generate.required is None or not isinstance(generator, Call):
        return None
    if not (generator.spec.collection_generator or generator.name == "stack"):
        return None
    used_above = frozenset(a.expr_id for a in generate.required)
    fields = used_fields(generator.arguments, used_above)
    if not fields or not settings.current().nested_fields:
        return None
    return _over_aliases(generate, *_aliases(fields))


def _generate_rewritten(node: Project, generate: Generate, fields: Fields) -> Project:
    aliases, columns = _aliases(fields)
    below = _over_aliases(generate, aliases, columns)
    assert isinstance(below, Generate)
    generator_uses = below.generator.references
    kept_before = None if generate.required is None else {a.expr_id for a in generate.required}
    kept = tuple(
        a
        for a in below.child.output
        if a.expr_id not in generator_uses or (kept_before is not None and a.expr_id in kept_before)
    )
    new_list = tuple(_with_columns(e, columns) for e in node.project_list)
    needed = frozenset().union(*(e.references for e in new_list))
    kept = tuple(a for a in below.child.output if a in kept or a.expr_id in needed)
    return replace(node, project_list=new_list, child=replace(below, required=kept))


def _explode_field(node: Project, field: GetStructField) -> LogicalPlan | None:
    generate = node.child
    assert isinstance(generate, Generate) and isinstance(generate.generator, Call)
    if generate.generator.name not in ("explode", "posexplode"):
        return None
    source = generate.generator.arguments[0]
    if not isinstance(field.child, AttributeReference):
        return None
    taken = GetStructField(child=source, ordinal=field.ordinal, name=field.name)
    generator = replace(generate.generator, arguments=(taken,))
    old = next(
        a
        for a in generate.generated
        if isinstance(a, AttributeReference) and a.expr_id == field.child.expr_id
    )
    new = replace(old, type_=field.data_type, is_nullable=True)
    generated = tuple(new if a is old else a for a in generate.generated)
    exploded = replace(generate, generator=generator, generated=generated)
    columns = {canonical(field): new}
    new_list = tuple(_with_columns(e, columns) for e in node.project_list)
    return _generate_rewritten(
        replace(node, project_list=new_list, child=exploded),
        exploded,
        used_fields((*new_list, taken)),
    )


@top_down(Project, holding=(Generate,))
def explode_smallest_field(node: Project, conf: Conf) -> LogicalPlan:
    """Where exploded structs only make rows, their smallest field is exploded.

    `Project [], Generate explode(items)` -> `Project [], Generate explode(items.qty)`. Idempotent:
    the field is no struct, or a struct of one field.
    """
    if not isinstance(node.child, Generate) or node.references:
        return node
    generate, generator = node.child, node.child.generator
    if not isinstance(generator, Call) or generator.name not in ("explode", "posexplode"):
        return node
    (source,) = generator.arguments
    match source.data_type:
        case ArrayType(element_type=StructType(fields=fields)) if len(fields) > 1:
            pass
        case _:
            return node
    smallest = min(range(len(fields)), key=lambda i: default_size(fields[i].data_type))
    taken = GetStructField(child=source, ordinal=smallest, name=fields[smallest].name)
    *others, last = generate.generated
    assert isinstance(last, AttributeReference) and isinstance(taken.data_type, ArrayType)
    element = replace(last, type_=taken.data_type.element_type, is_nullable=True)
    return replace(
        node,
        child=replace(
            generate,
            generator=replace(generator, arguments=(taken,)),
            generated=(*others, element),
        ),
    )
