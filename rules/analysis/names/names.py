"""Names: of select lists' entries, unknown ones and what may be meant, arguments by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Cast,
    Expression,
    Origin,
    without_alias,
)
from ....planner.model.expressions.unresolved import (
    NamedArgument,
    UnresolvedAlias,
    UnresolvedFunction,
)
from ....planner.model.functions.text_values import edit_distance
from ....planner.model.plans.logical import Aggregate, Filter, Generate, Join, Project, Sort
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.windows import Window
from ....planner.model.registry import find
from ....planner.model.schemas.types import quote_if_needed
from ....planner.model.text.quoting import to_sql_id
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ..context import full_name
from ..failures import failure


def named(expression: Expression) -> Expression:
    """A select-list item with its name, once the expression is resolved."""
    if not isinstance(expression, UnresolvedAlias) or not expression.child.resolved:
        return expression
    child = expression.child
    if isinstance(child, AttributeReference | Alias):
        return child
    return Alias(child=child, name=automatic_name(child), origin=expression.origin)


def automatic_name(expression: Expression) -> str:
    """A cast of a column keeps the column's name; anything else is called by its pretty form."""
    if isinstance(expression, Cast) and isinstance(expression.child, AttributeReference | Alias):
        return expression.child.name
    return pretty(expression)


def qualified(expression: Expression) -> Expression:
    """The expression with its columns named in full, as some messages show them."""
    return _in_full(expression, casts=False)


def as_sql(expression: Expression) -> str:
    """The expression as SQL: columns named in full, implicit casts written out."""
    if isinstance(expression, Alias):
        return f"{as_sql(expression.child)} AS {quote_if_needed(expression.name)}"
    return pretty(_in_full(expression, casts=True))


def _in_full(expression: Expression, *, casts: bool) -> Expression:
    def full(node: Expression) -> Expression:
        if casts and isinstance(node, Cast) and node.implicit:
            return replace(node, implicit=False)
        if isinstance(node, AttributeReference):
            return AttributeReference(
                name=".".join((*node.qualifier, node.name)),
                type_=node.type_,
                expr_id=node.expr_id,
            )
        return node

    return expression.transform_up(full)


def without_inner_aliases(plan: LogicalPlan) -> LogicalPlan:
    """The plan without names other than those of columns; itself if it has none."""
    plan = plan.map_children(without_inner_aliases)
    match plan:
        case Project() | Window():
            return plan.map_expressions(_with_own_name)
        case Aggregate(grouping=grouping, aggregates=aggregates):
            keys, items = tuple(map(_bare, grouping)), tuple(map(_with_own_name, aggregates))
            same = all(a is b for a, b in zip(keys + items, grouping + aggregates, strict=True))
            return plan if same else replace(plan, grouping=keys, aggregates=items)
        case Filter() | Join() | Sort() | Generate():
            return plan.map_expressions(_bare)
    return plan


def _with_own_name(expression: Expression) -> Expression:
    """A column: its own name stays."""
    if not isinstance(expression, Alias):
        return _bare(expression)
    child = _bare(expression.child)
    return expression if child is expression.child else replace(expression, child=child)


def _bare(expression: Expression) -> Expression:
    if not expression.holds(Alias):
        return expression
    return expression.transform_up(lambda e: without_alias(e))


MOST = 5


def unresolved_column(
    parts: tuple[str, ...],
    columns: Iterable[AttributeReference],
    origin: Origin | None,
    *,
    ordered: bool = True,
) -> AnalysisError:
    """A name that no column has, with the columns that there are, nearest first if `ordered`."""
    columns = tuple(columns)
    proposals = nearest(parts, columns) if ordered else [to_sql_id(c.name) for c in columns]
    return unresolved(parts, proposals, origin)


def unresolved(
    parts: tuple[str, ...], proposals: list[str], origin: Origin | None
) -> AnalysisError:
    """A name that no column has, with what may have been meant."""
    name = to_sql_id(parts)
    if not proposals:
        return failure(
            "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", origin=origin, subject=parts, objectName=name
        )
    return failure(
        "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        origin=origin,
        hint=f"The nearest column is {proposals[0]}.",
        subject=parts,
        objectName=name,
        proposal=", ".join(proposals),
    )


def nearest(parts: tuple[str, ...], columns: Iterable[AttributeReference]) -> list[str]:
    """At most five column names in backticks by edit distance from the name as written.

    Table names are left out where all columns are of one table and none was written.
    """
    known = {c.expr_id: c for c in columns}
    return nearest_in_order(parts, sorted(known.values(), key=lambda c: (c.name, c.expr_id)))


def nearest_in_order(parts: tuple[str, ...], columns: Iterable[AttributeReference]) -> list[str]:
    """As `nearest`; of names equally far the one that comes first.

    The name that a subquery got for want of one counts for the distance, but is not shown.
    """
    known = [((*c.qualifier, c.name), full_name(c)) for c in columns]
    if len(parts) == 1 and len({whole[:-1] for whole, _ in known}) == 1:
        known = [(whole[-1:], shown[-1:]) for whole, shown in known]
    written = ".".join(quote_if_needed(part) for part in parts)
    nearest = sorted(known, key=lambda names: edit_distance(written, to_sql_id(names[0])))
    return [to_sql_id(shown) for _, shown in nearest[:MOST]]


def with_positions(function: UnresolvedFunction) -> UnresolvedFunction:
    """The call with all arguments by position, defaults filled in.

    Raises:
        AnalysisError: the function takes no names, not this one, or the argument is there already.
    """
    if not any(isinstance(a, NamedArgument) for a in function.arguments):
        return function
    name = function.name.lower()
    spec = find(name)
    signature = () if spec is None else spec.named_parameters
    if not signature:
        raise failure(
            "NAMED_PARAMETERS_NOT_SUPPORTED", origin=function.origin, functionName=to_sql_id(name)
        )
    names = [parameter for parameter, _ in signature]
    given: dict[str, Expression] = {}
    last: str | None = None
    for place, argument in enumerate(function.arguments):
        if not isinstance(argument, NamedArgument):
            if last is not None:
                raise _refused_argument(
                    function, "UNEXPECTED_POSITIONAL_ARGUMENT", parameterName=to_sql_id(last)
                )
            if place < len(names):
                given[names[place]] = argument
            continue
        last = argument.name
        known = next((n for n in names if n.lower() == argument.name.lower()), None)
        if known is None:
            raise _unknown_argument(function, argument.name, names)
        if known in given:
            raise _twice(function, known, names)
        given[known] = argument.value
    arguments: list[Expression] = []
    for place, (parameter, default) in enumerate(signature):
        value = given.get(parameter, default)
        if value is None:
            raise _refused_argument(
                function,
                "REQUIRED_PARAMETER_NOT_FOUND",
                parameterName=to_sql_id(parameter),
                index=place,
            )
        arguments.append(value)
    return replace(function, arguments=tuple(arguments))


def _unknown_argument(
    function: UnresolvedFunction, written: str, names: list[str]
) -> AnalysisError:
    nearest = sorted(names, key=lambda n: edit_distance(to_sql_id(written), to_sql_id(n)))[:3]
    proposal = " ".join(to_sql_id(n) for n in nearest)
    return _refused_argument(
        function,
        "UNRECOGNIZED_PARAMETER_NAME",
        argumentName=to_sql_id(written),
        proposal=proposal,
    )


def _twice(function: UnresolvedFunction, name: str, names: list[str]) -> AnalysisError:
    positional = sum(not isinstance(a, NamedArgument) for a in function.arguments)
    by_position = names.index(name) < positional
    case = "BOTH_POSITIONAL_AND_NAMED" if by_position else "DOUBLE_NAMED_ARGUMENT_REFERENCE"
    condition = f"DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.{case}"
    return _refused_argument(function, condition, parameterName=to_sql_id(name))


def _refused_argument(
    function: UnresolvedFunction, condition: str, /, **parameters: Any
) -> AnalysisError:
    routine = to_sql_id(function.name.lower())
    return failure(condition, origin=function.origin, routineName=routine, **parameters)
