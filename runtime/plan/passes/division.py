"""Parts of expressions that our own Arrow code computes below the engine, and the other way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Expression,
    LambdaFunction,
    LambdaVariable,
    Literal,
)
from ...kernels.expressions.programs.compile import compile_program
from ...kernels.expressions.programs.supported_lambdas import free_variables


@dataclass(frozen=True, kw_only=True)
class Division:
    """Divides expressions between the engine and our own Arrow code.

    Attributes:
        columns: what the expressions are made of.
        differs: whether the engine computes a part otherwise than Spark.
        can_fail: whether a part can fail in the engine.
        lazy: the children of a part that Spark computes for some rows only.
        made: the columns that stand for parts computed below, by what they compute.
    """

    columns: Sequence[AttributeReference]
    differs: Callable[[Expression], bool]
    can_fail: Callable[[Expression], bool]
    lazy: Callable[[Expression], Sequence[Expression]]
    made: dict[Expression, Alias] = field(default_factory=dict)

    def over_computed(self, part: Expression, *, guarded: bool = False) -> Expression:
        """An expression over columns for the largest parts that the engine does not compute.

        Args:
            part: the expression.
            guarded: whether Spark computes it for some rows only: then what can fail stays in it.
        """
        if isinstance(part, LambdaFunction) or not self.differs(part):
            return part
        if not isinstance(part, Alias):
            program = compile_program((part,), self.columns)
            if program is not None and not (guarded and program.steps[program.results[0]].raises):
                return self._below(part, "computed")
        some = {id(one) for one in self.lazy(part)}
        return part.with_new_children(
            tuple(
                self.over_computed(child, guarded=guarded or id(child) in some)
                for child in part.children
            )
        )

    def over_engine(self, part: Expression, *, guarded: bool = False) -> Expression:
        """An expression that differs, over columns for the largest parts that the engine computes.

        Args:
            part: the expression.
            guarded: as for `over_computed`.
        """
        if isinstance(part, AttributeReference | LambdaVariable | Literal):
            return part
        some = {id(one) for one in self.lazy(part)}
        # A lambda is not called where there are no values.
        guarded = guarded or isinstance(part, LambdaFunction)
        return part.with_new_children(
            tuple(
                self._child_over_engine(child, guarded=guarded or id(child) in some)
                for child in part.children
            )
        )

    def _child_over_engine(self, child: Expression, *, guarded: bool) -> Expression:
        of_values = any(isinstance(one, LambdaVariable) for one in free_variables(child))
        if self.differs(child) or of_values:
            return self.over_engine(child, guarded=guarded)
        if isinstance(child, AttributeReference | Literal):
            return child
        if guarded and self.can_fail(child):
            return child
        if compile_program((child,), self.columns) is not None or child.foldable:
            return child
        return self._below(child, "given")

    def _below(self, part: Expression, name: str) -> AttributeReference:
        """The column that stands for a part."""
        return self.made.setdefault(part, Alias(child=part, name=name)).to_attribute()
