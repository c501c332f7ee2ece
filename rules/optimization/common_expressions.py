"""Expressions that are used several times and computed once."""

from __future__ import annotations

from dataclasses import dataclass

from ...planner.model.conf import Conf
from ...planner.model.expressions import (
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
from ...planner.model.logical import Aggregate, LogicalPlan, Project
from ...planner.model.types import DataType
from .calls import ITEM_LOOKUPS
from .semantics import Canonical, canonical


@dataclass(frozen=True, kw_only=True)
class CommonReference(Expression):
    """Stands for the value of a common expression, named by what it is."""

    definition: Expression

    @property
    def data_type(self) -> DataType:
        return self.definition.data_type

    @property
    def nullable(self) -> bool:
        return self.definition.nullable


@dataclass(frozen=True, kw_only=True)
class Common(Expression):
    """`body`, which mentions `reference` wherever it needs the value of `definition`."""

    child_fields = ("body", "definition")

    body: Expression
    definition: Expression
    reference: CommonReference

    @property
    def data_type(self) -> DataType:
        return self.body.data_type

    @property
    def nullable(self) -> bool:
        return self.body.nullable


# Marks expressions without anything to replace and without common expressions.
PLAIN = "_plain"


def is_cheap(expression: Expression) -> bool:
    """Whether computing it twice costs nothing: a column, a constant, a field of one."""
    if isinstance(expression, AttributeReference | Literal) or expression.foldable:
        return True
    is_field = isinstance(expression, GetStructField | Alias) or (
        isinstance(expression, Call) and expression.name in ITEM_LOOKUPS
    )
    return is_field and all(is_cheap(child) for child in expression.children)


def pull_out_common_expressions(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Common expressions are computed in a Project below the operator that uses them.

    `Project [with x = upper(a): if(x = 'b', null, x)]` -> `Project [if(_common_expr_0 = 'b', ...)]`
    over `Project [.., upper(a) AS _common_expr_0]`. Inside the branches of IF and CASE they are
    put in place, for they may not be evaluated for every row. Idempotent.
    """
    return plan.transform_up(_pull_out)


def _has_common(expression: Expression) -> bool:
    if PLAIN in expression.__dict__:
        return False
    return expression.exists(lambda e: isinstance(e, Common))


def _pull_out(node: LogicalPlan) -> LogicalPlan:
    if not any(_has_common(e) for e in node.expressions):
        return node
    if isinstance(node, Aggregate):
        return _pull_out_of_aggregate(node)
    return _pull_out_of_operator(node)


def _pull_out_of_operator(node: LogicalPlan) -> LogicalPlan:
    definitions: list[Alias] = []
    new = node.map_expressions(lambda e: _extracted(e, definitions, conditional=False))
    if not definitions:
        return new
    if len(new.children) != 1:
        # Several inputs: which one could compute it is not known here.
        return node.map_expressions(_inlined)
    child = new.children[0]
    below = Project(child=child, project_list=(*child.output, *definitions))
    above = new.with_new_children((below,))
    if isinstance(above, Project | Aggregate):
        return above
    return Project(child=above, project_list=node.output)


def _pull_out_of_aggregate(node: Aggregate) -> LogicalPlan:
    """The functions are computed first, under names of their own, then what is made of them."""
    names: dict[Canonical, Alias] = {}

    def split(expression: Expression) -> Expression:
        if isinstance(expression, AggregateExpression):
            return _named(expression, "_aggregateexpression", names)
        for key in node.grouping:
            if canonical(key) == canonical(expression) and not expression.foldable:
                if isinstance(key, AttributeReference):
                    names.setdefault(canonical(key), _self(key))
                    return key
                return _named(expression, "_groupingexpression", names)
        return expression.map_children(split)

    results = tuple(split(e) for e in node.aggregates)
    made = tuple(alias.child if _is_self(alias) else alias for alias in names.values())
    inner = _pull_out_of_operator(
        Aggregate(child=node.child, grouping=node.grouping, aggregates=made)
    )
    return _pull_out_of_operator(Project(child=inner, project_list=results))


def _self(attribute: AttributeReference) -> Alias:
    return Alias(child=attribute, name=attribute.name, expr_id=attribute.expr_id)


def _is_self(alias: Alias) -> bool:
    return isinstance(alias.child, AttributeReference) and alias.child.expr_id == alias.expr_id


def _named(expression: Expression, name: str, names: dict[Canonical, Alias]) -> Expression:
    key = canonical(expression)
    if key not in names:
        names[key] = Alias(child=expression, name=name)
    return to_attribute(names[key])


def _extracted(
    expression: Expression, definitions: list[Alias], *, conditional: bool
) -> Expression:
    if not _has_common(expression):
        return expression
    if isinstance(expression, Common):
        if conditional:
            return _inlined(expression)
        definition = _extracted(expression.definition, definitions, conditional=False)
        alias = Alias(child=definition, name=f"_common_expr_{len(definitions)}")
        definitions.append(alias)
        body = _filled(expression.body, expression.reference, alias.to_attribute())
        return _extracted(body, definitions, conditional=False)
    if isinstance(expression, CaseWhen) or (
        isinstance(expression, Call) and expression.name in ("if", "coalesce", "and", "or")
    ):
        return _extracted_from_conditional(expression, definitions, conditional=conditional)
    return expression.map_children(
        lambda child: _extracted(child, definitions, conditional=conditional)
    )


def _extracted_from_conditional(
    expression: Expression, definitions: list[Alias], *, conditional: bool
) -> Expression:
    """Only the first operand is evaluated for every row (all of AND and OR count as such)."""
    is_logic = isinstance(expression, Call) and expression.name in ("and", "or")
    first = expression.children[0]
    return expression.map_children(
        lambda child: _extracted(
            child, definitions, conditional=conditional or not (is_logic or child is first)
        )
    )


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
