"""Parts of expressions that our own Arrow code computes below the engine, and the other way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def over_computed(
    part: Expression,
    columns: Sequence[AttributeReference],
    made: dict[Expression, Alias],
    differs: Callable[[Expression], bool],
    lazy: Callable[[Expression], Sequence[Expression]],
    *,
    guarded: bool = False,
) -> Expression:
    """An expression over columns for the largest parts that the engine does not compute.

    Args:
        part: the expression.
        columns: what it is made of.
        made: these columns, by what they compute; new ones are put in.
        differs: whether the engine computes a part otherwise than Spark.
        lazy: the children of a part that Spark computes for some rows only.
        guarded: whether that holds of the expression: then what can fail stays where it is.
    """
    if isinstance(part, LambdaFunction) or not differs(part):
        return part
    if not isinstance(part, Alias):
        program = compile_program((part,), columns)
        if program is not None and not (guarded and program.steps[program.results[0]].raises):
            return made.setdefault(part, Alias(child=part, name="computed")).to_attribute()
    some = {id(one) for one in lazy(part)}
    return part.with_new_children(
        tuple(
            over_computed(child, columns, made, differs, lazy, guarded=guarded or id(child) in some)
            for child in part.children
        )
    )


def over_engine(
    part: Expression,
    columns: Sequence[AttributeReference],
    made: dict[Expression, Alias],
    differs: Callable[[Expression], bool],
    lazy: Callable[[Expression], Sequence[Expression]],
    can_fail: Callable[[Expression], bool],
    *,
    guarded: bool = False,
) -> Expression:
    """An expression that differs, over columns for the largest parts that the engine computes.

    Args:
        part: the expression.
        columns: what it is made of.
        made: these columns, by what they compute; new ones are put in.
        differs: whether the engine computes a part otherwise than Spark.
        lazy: the children of a part that Spark computes for some rows only.
        can_fail: whether a part can fail in the engine.
        guarded: whether Spark computes the expression for some rows only: then what can fail stays.
    """
    if isinstance(part, AttributeReference | LambdaVariable | Literal):
        return part
    some = {id(one) for one in lazy(part)}
    guarded = guarded or isinstance(part, LambdaFunction)  # is not called where there are no values

    def below(child: Expression) -> Expression:
        skipped = guarded or id(child) in some
        of_values = any(isinstance(one, LambdaVariable) for one in free_variables(child))
        if differs(child) or of_values:
            return over_engine(child, columns, made, differs, lazy, can_fail, guarded=skipped)
        if isinstance(child, AttributeReference | Literal):
            return child
        if skipped and can_fail(child):
            return child
        if compile_program((child,), columns) is not None or child.foldable:
            return child
        return made.setdefault(child, Alias(child=child, name="given")).to_attribute()

    return part.with_new_children(tuple(map(below, part.children)))
