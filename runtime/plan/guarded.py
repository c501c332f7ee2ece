"""Which parts of an expression Spark computes for some rows only."""

from __future__ import annotations

from ...planner.model.expressions.core import Call, CaseWhen, Expression


def guarded_arguments(part: Expression) -> tuple[Expression, ...]:
    """What Spark computes only where the parts before it leave the answer open."""
    match part:
        case CaseWhen(conditions=conditions, values=values, otherwise=otherwise):
            return (*conditions[1:], *values, *(() if otherwise is None else (otherwise,)))
        case Call(arguments=arguments, spec=spec) if spec.short_circuits:
            return arguments[1:]
        case _:
            return ()
