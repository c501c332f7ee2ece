"""UNION, EXCEPT and INTERSECT: columns and fields matched by name, types that meet."""

from __future__ import annotations

from collections.abc import Sequence

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
    Origin,
    lit,
)
from ....planner.model.functions.coercion import wider_type
from ....planner.model.ids import fresh_id
from ....planner.model.plans.logical import Project, Union
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.set_operations import SetOperation
from ....planner.model.schemas.types import ArrayType, DataType, StructField, StructType
from ....planner.model.text.quoting import to_sql_id
from ....planner.model.tree import replace
from ...common.fresh_ids import keep_apart, keep_tables_apart
from ..context import Context
from ..failures import failure


def conformed(
    value: Expression, target: DataType, context: Context, *, allow_missing: bool
) -> Expression:
    """The value with the fields of another type, in that one's order; itself if it has them.

    Raises:
        AnalysisError: FIELD_NOT_FOUND where fields may not be missing.
    """
    source = value.data_type
    if _alike(source, target, context):
        return value
    match source, target:
        case StructType(), StructType():
            return _rebuilt(value, source, target, context, allow_missing)
        case ArrayType(), ArrayType():
            number = fresh_id()
            variable = LambdaVariable(
                name=f"x_{number}",
                type_=source.element_type,
                is_nullable=source.contains_null,
                expr_id=number,
            )
            wanted = target.element_type
            body = conformed(variable, wanted, context, allow_missing=allow_missing)
            if body is variable:
                return value
            function = LambdaFunction(body=body, parameters=(variable,))
            return context.call("transform", value, function)
        case _:
            return value


def _rebuilt(
    value: Expression, source: StructType, target: StructType, context: Context, missing: bool
) -> Expression:
    fold = context.fold
    ordinals = {fold(field.name): i for i, field in enumerate(source.fields)}
    parts: list[Expression] = []
    for wanted in target.fields:
        ordinal = ordinals.pop(fold(wanted.name), None)
        item: Expression
        if ordinal is None:
            if not missing:
                raise _no_field(wanted, source)
            item = Literal(value=None, type_=wanted.data_type)
        else:
            name = source.fields[ordinal].name
            own = GetStructField(child=value, ordinal=ordinal, name=name)
            item = conformed(own, wanted.data_type, context, allow_missing=missing)
        parts += [lit(wanted.name), item]
    for ordinal in ordinals.values():
        name = source.fields[ordinal].name
        parts += [lit(name), GetStructField(child=value, ordinal=ordinal, name=name)]
    struct = context.call("named_struct", *parts)
    if not value.nullable:
        return struct
    null = Literal(value=None, type_=struct.data_type)
    return context.call("if", context.call("isnull", value), null, struct)


def _no_field(wanted: StructField, source: StructType) -> AnalysisError:
    names = ", ".join(to_sql_id(field.name) for field in source.fields)
    return failure("FIELD_NOT_FOUND", fieldName=to_sql_id(wanted.name), fields=names)


def _alike(one: DataType, other: DataType, context: Context) -> bool:
    """Whether structs in them have fields of the same names, in the same order."""
    match one, other:
        case StructType(fields=left), StructType(fields=right):
            return len(left) == len(right) and all(
                context.fold(a.name) == context.fold(b.name)
                and _alike(a.data_type, b.data_type, context)
                for a, b in zip(left, right, strict=True)
            )
        case ArrayType(element_type=left_element), ArrayType(element_type=right_element):
            return _alike(left_element, right_element, context)
        case _:
            return True


def widen_union(plan: Union, context: Context) -> Union:
    """The union with a Project of casts over each branch that needs one.

    `Union [int], [bigint]` becomes `Union [Project [cast(a as bigint) AS a]], [bigint]`. Branches
    that cannot meet stay as they are: the check at the end of analysis refuses them.
    """
    if plan.by_name:
        plan = match_by_name(plan, context)
    plan = replace(plan, inputs=tuple(_told_apart(plan.inputs, context)))
    outputs = [branch.output for branch in plan.inputs]
    if plan.resolved or len({len(output) for output in outputs}) > 1:
        return plan
    types = [_common([o[i].type_ for o in outputs], context) for i in range(len(outputs[0]))]
    branches = tuple(_widened(branch, types, plan.origin, context) for branch in plan.inputs)
    if not _is_made_anew(plan, branches, context):
        return plan
    return replace(plan, inputs=branches, origin=context.whole)


def widen_sides(plan: SetOperation, context: Context) -> SetOperation:
    """EXCEPT and INTERSECT with the casts that their sides need, and columns of their own."""
    if not (plan.left.resolved and plan.right.resolved):
        return plan
    plan = replace(plan, right=keep_apart(plan.left, plan.right))
    outputs = (plan.left.output, plan.right.output)
    if plan.resolved or len(outputs[0]) != len(outputs[1]):
        return plan
    types = [_common([a.type_, b.type_], context) for a, b in zip(*outputs, strict=True)]
    sides = (plan.left, plan.right)
    left, right = (_widened(side, types, plan.origin, context) for side in sides)
    if not _is_made_anew(plan, (left, right), context):
        return plan
    return replace(plan, left=left, right=right, origin=context.whole)


def _is_made_anew(plan: LogicalPlan, inputs: Sequence[LogicalPlan], context: Context) -> bool:
    """Whether Spark makes a new operator for casts in its inputs, or in those of one below.

    That one stands where the whole query does.
    """
    if any(new is not old for new, old in zip(inputs, plan.children, strict=True)):
        return True
    below = (node for branch in inputs for node in branch.walk())
    return any(
        isinstance(node, Union | SetOperation) and node.origin is context.whole for node in below
    )


def match_by_name(plan: Union, context: Context) -> Union:
    """UNION BY NAME as a plain one: each branch's columns in the order of the branches before.

    With `allow_missing` nulls stand for columns that a branch lacks.

    Raises:
        AnalysisError: a branch lacks a column, or has one twice.
    """
    first, *rest, last = plan.inputs
    for branch in rest:
        first = widen_union(_both_by_name(first, branch, plan.allow_missing, context), context)
    return replace(_both_by_name(first, last, plan.allow_missing, context), origin=plan.origin)


def _both_by_name(
    left: LogicalPlan, right: LogicalPlan, allow_missing: bool, context: Context
) -> Union:
    scope = context.scope(right.output)
    for side in (left, right):
        _refuse_repeats(side, context)
    items: list[Expression] = []
    seen: set[int] = set()
    for column in left.output:
        found = scope.named(column.name)
        seen.update(other.expr_id for other in found)
        if not found and not allow_missing:
            names = ", ".join(other.name for other in right.output)
            raise failure(
                "UNRESOLVED_COLUMN_AMONG_FIELD_NAMES",
                hint="Give both sides the same columns, or allow missing ones.",
                subject=(column.name,),
                colName=column.name,
                fieldNames=names,
            )
        items.append(_like(found[0], column, context, allow_missing) if found else _missing(column))
    extra = [column for column in right.output if column.expr_id not in seen]
    if extra or tuple(items) != right.output:
        right = Project(project_list=(*items, *extra), child=right)
    if allow_missing:
        given = zip(left.output, right.output, strict=False)
        own = [_like(column, other, context, allow_missing) for column, other in given]
        added = (*own, *(_missing(column) for column in extra))
        if added != left.output:
            left = Project(project_list=added, child=left)
    return Union(inputs=(left, right))


def _like(
    column: AttributeReference, other: AttributeReference, context: Context, allow_missing: bool
) -> AttributeReference | Alias:
    """The column, or where it holds structs of other fields than the other, one made like it."""
    like = conformed(column, other.type_, context, allow_missing=allow_missing)
    return column if like is column else Alias(child=like, name=column.name)


def _missing(column: AttributeReference) -> Alias:
    return Alias(child=Literal(value=None, type_=column.type_), name=column.name)


def _refuse_repeats(side: LogicalPlan, context: Context) -> None:
    scope = context.scope(side.output)
    for column in side.output:
        if len(scope.named(column.name)) > 1:
            raise failure(
                "COLUMN_ALREADY_EXISTS",
                hint="Give each column of a side a name of its own.",
                columnName=to_sql_id((scope.fold(column.name),)),
            )


def _told_apart(branches: tuple[LogicalPlan, ...], context: Context) -> list[LogicalPlan]:
    """The branches with new ids where one gives a column twice or gives an earlier one's."""
    result: list[LogicalPlan] = []
    seen: set[int] = set()
    for branch in branches:
        for earlier in () if context.at_once else result:
            branch = keep_tables_apart(earlier, branch)
        branch = _without_repeats(branch)
        if not seen.isdisjoint(branch.output_ids):
            items = tuple(Alias(child=a, name=a.name) for a in branch.output)
            branch = Project(project_list=items, child=branch)
        seen |= branch.output_ids
        result.append(branch)
    return result


def _without_repeats(branch: LogicalPlan) -> LogicalPlan:
    output = branch.output
    if len(branch.output_ids) == len(output):
        return branch
    seen: set[int] = set()
    items: list[Expression] = []
    for column in output:
        items.append(Alias(child=column, name=column.name) if column.expr_id in seen else column)
        seen.add(column.expr_id)
    return Project(project_list=tuple(items), child=branch)


def _common(types: list[DataType], context: Context) -> DataType | None:
    found: DataType | None = types[0]
    for other in types[1:]:
        if found is None:
            return None
        found = wider_type(found, other, context.conf)
    return found


def _widened(
    branch: LogicalPlan,
    types: list[DataType | None],
    origin: Origin | None,
    context: Context,
) -> LogicalPlan:
    items: list[Expression] = [
        _cast(a, t, origin, context) for a, t in zip(branch.output, types, strict=True)
    ]
    if all(new is old for new, old in zip(items, branch.output, strict=True)):
        return branch
    return Project(project_list=tuple(items), child=branch)


def _cast(
    column: AttributeReference, target: DataType | None, origin: Origin | None, context: Context
) -> Expression:
    if target is None or column.type_ == target:
        return column
    # The error for a value that cannot be cast names the union's place.
    cast = replace(context.cast(column, target), origin=origin)
    return Alias(child=cast, name=column.name)
