"""The base of all plans, logical and physical: children, expressions, output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from operator import is_
from typing import ClassVar, Self

from ..expressions.core import AttributeReference, Expression, Origin
from ..frozen import dataclass
from ..lazy import cached_property
from ..schemas.types import StructField, StructType
from ..tree import TreeNode, includes, rebuilt


def map_nested(value: object, function: Callable[[Expression], Expression]) -> object:
    """Apply a function to the expressions in a field: one, a tuple, tuples of tuples, or None."""
    if isinstance(value, Expression):
        return function(value)
    if isinstance(value, tuple):
        new = tuple(
            [
                function(item) if isinstance(item, Expression) else map_nested(item, function)
                for item in value
            ]
        )
        if not all(map(is_, new, value)):
            return new
    return value


def flatten(value: object) -> Iterator[Expression]:
    """The expressions in a field, in order."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            if isinstance(item, Expression):
                yield item
            else:
                yield from flatten(item)


@dataclass(frozen=True, kw_only=True)
class QueryPlan(TreeNode):
    """A plan node, logical or physical: children, expressions, output columns."""

    expression_fields: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[tuple[str, ...]] = ()  # the fields and properties that plans show of it
    # What of a node's own expressions is known, and stays so where only its input is another.
    kept: ClassVar[tuple[str, ...]] = ("expressions", "own_expression_classes")

    @property
    def node_name(self) -> str:
        """The operator's name in plans."""
        return type(self).__name__

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        """The columns that the node gives, in order."""
        raise NotImplementedError(type(self).__name__)

    @property
    def schema(self) -> StructType:
        """The columns' names, types and nullability."""
        return StructType(tuple(StructField(a.name, a.data_type, a.nullable) for a in self.output))

    @cached_property
    def output_ids(self) -> frozenset[int]:
        return frozenset(a.expr_id for a in self.output)

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions of this node itself, in field order."""
        found: list[Expression] = []
        values = self.__dict__
        for name in self.expression_fields:
            value = values[name]
            if isinstance(value, Expression):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend(flatten(value))
        return tuple(found)

    @cached_property
    def own_expression_classes(self) -> frozenset[type]:
        """The classes of all expressions of the node itself."""
        found: frozenset[type] = frozenset()
        for expression in self.expressions:
            own = expression.classes
            found = own if found <= own else found | own
        return found

    @cached_property
    def expression_classes(self) -> frozenset[type]:
        """The classes of all expressions of the node and of all below it."""
        found = self.own_expression_classes
        for child in self.children:
            below = child.expression_classes
            found = below if found <= below else found | below
        return found

    def uses(self, kind: type) -> bool:
        """Whether an expression in the tree is, or has in it, one of a class."""
        return includes(self.expression_classes, kind)

    @cached_property
    def references(self) -> frozenset[int]:
        """The ids of the columns that this node's own expressions use."""
        return frozenset().union(*(e.references for e in self.expressions))

    def map_expressions(self, function: Callable[[Expression], Expression]) -> Self:
        """This node with the function applied to each expression; itself if none changed."""
        changed = {}
        for name in self.expression_fields:
            value = getattr(self, name)
            new = map_nested(value, function)
            if new is not value:
                changed[name] = new
        return rebuilt(self, changed) if changed else self

    def transform_expressions(self, function: Callable[[Expression], Expression]) -> Self:
        """`map_expressions` with the function applied bottom-up inside each expression."""
        return self.map_expressions(lambda e: e.transform_up(function))


class GivesAttributes(QueryPlan):
    """A node that gives what its field `attributes` lists."""

    attributes: tuple[AttributeReference, ...]

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes


@dataclass(frozen=True, kw_only=True)
class LogicalPlan(QueryPlan):
    """Base of logical operators. `origin` takes no part in equality."""

    origin: Origin | None = field(default=None, compare=False, repr=False)

    @cached_property
    def resolved(self) -> bool:
        return all(e.resolved for e in self.expressions) and all(c.resolved for c in self.children)

    @cached_property
    def is_streaming(self) -> bool:
        return any(child.is_streaming for child in self.children)

    @cached_property
    def nullable_state(self) -> bool:
        """Whether all columns that a stateful operator here gives count as nullable."""
        return any(child.nullable_state for child in self.children)

    @cached_property
    def missing_input(self) -> frozenset[int]:
        """The ids of the columns that its expressions use and its inputs do not give."""
        if not self.children:
            return frozenset()
        given = (child.output_ids for child in self.children)
        return self.references.difference(self.produced, *given)

    @property
    def produced(self) -> frozenset[int]:
        """The ids of columns among its expressions that it makes itself."""
        return frozenset()


@dataclass(frozen=True, kw_only=True)
class UnaryNode(LogicalPlan):
    """One child whose columns pass through, unless a node says otherwise."""

    child_fields = ("child",)

    child: LogicalPlan

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.child.output


class UnresolvedNode(LogicalPlan):
    """An operator that analysis has still to replace."""

    @cached_property
    def resolved(self) -> bool:
        return False


class UnresolvedLeaf(UnresolvedNode):
    """The same of an input: its columns are not known."""

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return ()
