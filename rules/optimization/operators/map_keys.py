"""Maps among grouping keys are sorted, so that equal maps are the same bytes."""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Expression,
    LambdaFunction,
    LambdaVariable,
)
from ....planner.model.expressions.equality import Canonical, canonical
from ....planner.model.functions.build import call, fields_of, null_with, struct_of
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import ArrayType, MapType, StructType, contains_type
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import over_children, replace_attributes

NewColumns = dict[int, Expression]
"""By the id of a key as it was: the sorted one, under the same name."""
OfMap = Callable[[Expression], Expression]


def sort_maps_in_grouping(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Grouping keys of map type, or that hold maps, are computed with sorted maps in a Project.

    `Aggregate [m], [m, count(1)]` -> `Aggregate [_groupingmapsort], [_groupingmapsort AS m, ...]`
    over `Project [.., mapsort(m) AS _groupingmapsort]`, where the key keeps its name, but not its
    id. Requires: keys are columns or constants. Runs once.
    """
    return _visit(plan)[0]


def _visit(plan: LogicalPlan) -> tuple[LogicalPlan, NewColumns]:
    if Aggregate not in plan.classes:
        return plan, {}
    plan, renewed = over_children(plan, _visit)
    if renewed:
        plan = plan.transform_expressions(lambda e: _renamed(e, renewed))
        renewed = {i: column for i, column in renewed.items() if i not in plan.output_ids}
    if isinstance(plan, Aggregate):
        return _sorted(plan)
    return plan, renewed


def _renamed(expression: Expression, renewed: NewColumns) -> Expression:
    if isinstance(expression, AttributeReference) and expression.expr_id in renewed:
        column = renewed[expression.expr_id]
        assert isinstance(column, AttributeReference)
        return replace(column, name=expression.name)
    return expression


def _sorted(plan: Aggregate) -> tuple[LogicalPlan, NewColumns]:
    columns: dict[Canonical, Alias] = {}
    keys: list[Expression] = []
    for key in plan.grouping:
        sorted_key = map_sorted(key) if contains_type(key.data_type, MapType) else key
        if sorted_key is key:
            keys.append(key)
            continue
        alias = columns.setdefault(canonical(key), Alias(child=sorted_key, name="_groupingmapsort"))
        keys.append(alias.to_attribute())
    if not columns:
        return plan, {}
    known = {
        key.expr_id: columns[canonical(key)].to_attribute()
        for key in plan.grouping
        if isinstance(key, AttributeReference) and canonical(key) in columns
    }
    renewed: NewColumns = {}
    items: list[Expression] = []
    for item in plan.aggregates:
        if isinstance(item, AttributeReference) and item.expr_id in known:
            renewed[item.expr_id] = replace(known[item.expr_id], name=item.name)
            items.append(renewed[item.expr_id])
        else:
            items.append(replace_attributes(item, known))
    child = Project(child=plan.child, project_list=(*plan.child.output, *columns.values()))
    return replace(plan, child=child, grouping=tuple(keys), aggregates=tuple(items)), renewed


def map_sorted(value: Expression) -> Expression:
    """A value with all maps in it sorted by key; the value itself if there are none."""
    return _with_maps(value, _sorted_map)


def _sorted_map(value: Expression) -> Expression:
    kind = value.data_type
    assert isinstance(kind, MapType)
    if contains_type(kind.value_type, MapType):
        values = _elements(call("map_values", value), _sorted_map)
        value = call("map_from_arrays", call("map_keys", value), values)
    return call("mapsort", value)


def map_as_entries(value: Expression) -> Expression:
    """A value with lists of entries for all maps in it, which have the same hash."""
    return _with_maps(value, _entries_of_map)


def _entries_of_map(value: Expression) -> Expression:
    return map_as_entries(call("map_entries", value))


def _with_maps(value: Expression, of_map: OfMap) -> Expression:
    """A value with something else for each map in it; the value itself if there are none."""
    match value.data_type:
        case MapType():
            return of_map(value)
        case StructType() as struct:
            return _fields(value, struct, of_map)
        case ArrayType(element_type=element) if contains_type(element, MapType):
            return _elements(value, of_map)
        case _:
            return value


def _fields(value: Expression, struct: StructType, of_map: OfMap) -> Expression:
    if not contains_type(struct, MapType):
        return value
    changed = ((name, _with_maps(part, of_map)) for name, part in fields_of(value))
    return null_with(value, struct_of(changed))


def _elements(array: Expression, of_map: OfMap) -> Expression:
    """Each element of an array, changed."""
    kind = array.data_type
    assert isinstance(kind, ArrayType)
    x = LambdaVariable(name="x", type_=kind.element_type, is_nullable=kind.contains_null)
    body = LambdaFunction(body=_with_maps(x, of_map), parameters=(x,))
    return call("transform", array, body)
