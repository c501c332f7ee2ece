"""Functions that are defined through others; what is used several times, computed once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from ....planner.model.expressions.base import LikePart
from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    CaseWhen,
    Expression,
    GetStructField,
    Literal,
    to_attribute,
)
from ....planner.model.expressions.equality import Canonical, canonical
from ....planner.model.expressions.python_functions import PythonUDF
from ....planner.model.expressions.subqueries import SubqueryExpression
from ....planner.model.frozen import dataclass
from ....planner.model.functions.build import is_item_lookup
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import replace_attributes


@dataclass(frozen=True, kw_only=True)
class CommonReference(LikePart):
    """Stands for the value of a common expression, named by what it is."""

    like = "definition"

    definition: Expression


@dataclass(frozen=True, kw_only=True)
class Common(LikePart):
    """`body`, which mentions `reference` wherever it needs the value of `definition`."""

    child_fields = ("body", "definition")
    like = "body"

    body: Expression
    definition: Expression
    reference: CommonReference


def is_cheap(expression: Expression) -> bool:
    """Whether computing it twice costs nothing: a column, a constant, a field of one.

    Equal calls of Python functions are made once, so that their arguments count alone.
    """
    if isinstance(expression, AttributeReference | Literal) or expression.foldable:
        return True
    passes = isinstance(expression, GetStructField | Alias | PythonUDF)
    return (passes or is_item_lookup(expression)) and all(
        is_cheap(child) for child in expression.children
    )


def pull_out_common_expressions(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Common expressions are computed in a Project below the operator that uses them.

    `Project [with x = upper(a): if(x = 'b', null, x)]` -> `Project [if(_common_expr_0 = 'b', ...)]`
    over `Project [.., upper(a) AS _common_expr_0]`. Inside the branches of IF and CASE they are
    put in place, for they may not be evaluated for every row. One within another is pulled out of
    the Project that the outer one has led to. Idempotent.
    """
    return pull_out(plan)


def pull_out(plan: LogicalPlan) -> LogicalPlan:
    """The same for a plan without settings: also for those of subqueries."""
    numbers = count()
    while True:
        after = plan.transform_up(lambda node: _pull_out(node, numbers))
        if after is plan:
            return plan
        plan = after


def _pull_out(node: LogicalPlan, numbers: Iterator[int]) -> LogicalPlan:
    if not any(e.holds(Common) for e in node.expressions):
        return node
    if isinstance(node, Aggregate):
        return _pull_out_of_aggregate(node, numbers)
    return _pull_out_of_operator(node, numbers)


def _pull_out_of_operator(node: LogicalPlan, numbers: Iterator[int]) -> LogicalPlan:
    extraction = _Extraction(node.children, numbers)
    new = node.map_expressions(lambda e: extraction.extracted(e, nested=False))
    if not any(extraction.definitions):
        return new
    below = tuple(
        Project(child=child, project_list=(*child.output, *definitions)) if definitions else child
        for child, definitions in zip(new.children, extraction.definitions, strict=True)
    )
    above = new.with_new_children(below)
    if len(above.output) == len(node.output):
        return above
    return Project(child=above, project_list=node.output)


def _pull_out_of_aggregate(node: Aggregate, numbers: Iterator[int]) -> LogicalPlan:
    """Keys and functions are computed first, under names of their own, then what is made of them.

    A later rule makes the two operators one again, unless another has come in between.
    """
    keys = tuple(_named_key(key) for key in node.grouping)
    by_form = {canonical(form): key for form, key in zip(node.grouping, keys, strict=True)}
    functions: dict[Canonical, Alias] = {}

    def split(expression: Expression) -> Expression:
        if isinstance(expression, AggregateExpression):
            form = canonical(expression)
            if form not in functions:
                functions[form] = Alias(child=expression, name="_aggregateexpression")
            return to_attribute(functions[form])
        if not isinstance(expression, Alias) and not expression.foldable:
            key = by_form.get(canonical(expression))
            if key is not None:
                return to_attribute(key)
        return expression.map_children(split)

    results = tuple(split(e) for e in node.aggregates)
    inner = replace(node, grouping=keys, aggregates=(*keys, *functions.values()))
    # A streaming aggregation gives what may be null, whatever its functions say.
    given: dict[int, Expression] = {column.expr_id: column for column in inner.output}
    results = tuple(replace_attributes(e, given) for e in results)
    return Project(child=_pull_out_of_operator(inner, numbers), project_list=results)


def _named_key(key: Expression) -> Expression:
    if isinstance(key, AttributeReference | Alias):
        return key
    return Alias(child=key, name="_groupingexpression")


class _Extraction:
    """Takes common expressions out of one operator, each to the input that has its columns."""

    def __init__(self, inputs: tuple[LogicalPlan, ...], numbers: Iterator[int]) -> None:
        self.columns = [frozenset(column.expr_id for column in i.output) for i in inputs]
        self.definitions: list[list[Alias]] = [[] for _ in inputs]
        self.numbers = numbers

    def extracted(self, expression: Expression, *, nested: bool) -> Expression:
        """The expression without its outermost common expressions (`nested`: it is inside one)."""
        if not expression.holds(Common):
            return expression
        if isinstance(expression, Common) and not nested:
            definition = self.extracted(expression.definition, nested=True)
            body = self.extracted(expression.body, nested=True)
            return _filled(body, expression.reference, self._column(definition))
        if isinstance(expression, CaseWhen) or (
            isinstance(expression, Call) and expression.spec.conditional
        ):
            return self._conditional(expression, nested=nested)
        return expression.map_children(lambda child: self.extracted(child, nested=nested))

    def _conditional(self, expression: Expression, *, nested: bool) -> Expression:
        """Only the first operand is evaluated for every row."""
        first = expression.children[0]
        return expression.map_children(
            lambda child: (
                self.extracted(child, nested=nested) if child is first else _inlined(child)
            )
        )

    def _column(self, definition: Expression) -> Expression:
        if is_cheap(definition):
            return definition
        for columns, definitions in zip(self.columns, self.definitions, strict=True):
            if definition.references <= columns:
                alias = Alias(child=definition, name=f"_common_expr_{next(self.numbers)}")
                definitions.append(alias)
                return alias.to_attribute()
        # Columns of several inputs: none of them could compute it.
        return definition


def _inlined(expression: Expression) -> Expression:
    if isinstance(expression, Common):
        return _inlined(_filled(expression.body, expression.reference, expression.definition))
    return expression.map_children(_inlined)


def _filled(body: Expression, reference: CommonReference, value: Expression) -> Expression:
    def visit(node: Expression) -> Expression:
        if isinstance(node, CommonReference) and node.definition == reference.definition:
            return value
        return node.map_children(visit)

    return visit(body)


# Functions that mention their first argument twice: it is computed once where that costs something
# (the rule that takes it out decides; until then it is shared even if cheap, as that rule also
# takes aggregates apart).
_MENTIONED_TWICE = frozenset(("between", "nullif", "count_if"))


def replace_expressions(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Functions that the registry defines through others give way to their definitions.

    `nvl(a, b)` -> `coalesce(a, b)`; `between(a, b, c)` -> `a >= b AND a <= c`, where a costly `a`
    becomes a common expression. Idempotent.
    """
    return replace_in(plan)


def replace_in(plan: LogicalPlan) -> LogicalPlan:
    """The same for a plan without settings: also for those of subqueries."""
    return plan.map_children(replace_in).map_expressions(replaced)


def replaced(expression: Expression) -> Expression:
    """The expression with all such functions replaced, inside out."""
    current = expression.map_children(replaced)
    if isinstance(current, SubqueryExpression):
        # At once: conditions leave the plan before it is optimized by itself.
        plan = pull_out(replace_in(current.plan))
        return current if plan is current.plan else replace(current, plan=plan)
    if isinstance(current, AggregateExpression):
        return _replace_aggregate(current)
    if not isinstance(current, Call):
        return current
    definition = current.spec.replacement
    if definition is None or current.spec.kind == "aggregate":
        return current
    if current.spec.of_types:
        return current  # it is a constant of the columns that it names: it moves with them first
    reference, call = _shared(current)
    body = replaced(definition(call))
    if reference is None:
        return body
    return Common(body=body, definition=reference.definition, reference=reference)


def _shared(call: Call) -> tuple[CommonReference | None, Call]:
    """The call over a reference to its argument, if its definition mentions that twice."""
    if call.name not in _MENTIONED_TWICE:
        return None, call
    reference = CommonReference(definition=call.arguments[0])
    return reference, replace(call, arguments=(reference, *call.arguments[1:]))


def _replace_aggregate(aggregate: AggregateExpression) -> Expression:
    definition = aggregate.function.spec.replacement
    if definition is None:
        return aggregate
    reference, function = _shared(aggregate.function)
    result = definition(function)
    # The definition may be an expression over one or more aggregates.
    if not (isinstance(result, Call) and result.spec.kind == "aggregate"):
        return replaced(result)
    if reference is not None:
        (body,) = result.arguments
        inside = Common(body=body, definition=reference.definition, reference=reference)
        result = replace(result, arguments=(inside,))
    return replaced(replace(aggregate, function=result))
