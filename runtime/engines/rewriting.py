"""Puts exact forms in an expression for what the embedded engine computes otherwise than Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...planner.model.expressions import Expression
from .agreement import Setting, guards_a_failure, plain_reason, rewrite_for
from .exact import ExactForm
from .rewrites import GUARDED, REWRITES, Rewrite


def exact_form(expression: Expression, *, ansi: bool, time_zone: str) -> Expression:
    """The expression with every part that the engine computes otherwise than Spark rewritten.

    Parts without a rewrite stay as they are: `agreement.disagreements` of the result names them.

    Args:
        expression: as the optimizer leaves it.
        ansi: the session's `spark.sql.ansi.enabled`.
        time_zone: the session's `spark.sql.session.timeZone`.
    """
    return _rebuilt(expression, Setting(ansi, time_zone))


def _rebuilt(part: Expression, setting: Setting) -> Expression:
    if isinstance(part, ExactForm):
        return part
    children = tuple(_rebuilt(child, setting) for child in part.children)
    return _exact(part.with_new_children(children), setting)


def _exact(part: Expression, setting: Setting) -> Expression:
    if guards_a_failure(part, setting):
        return next(_forms(part, GUARDED, setting), part)
    if plain_reason(part, setting) is None:
        return part
    name = rewrite_for(part, setting)
    known = {} if name is None else {name: REWRITES[name]}
    return next(_forms(part, known, setting), part)


def _forms(
    part: Expression, rewrites: Mapping[str, Rewrite], setting: Setting
) -> Iterator[ExactForm]:
    for name, rewrite in rewrites.items():
        template = rewrite(part, setting.time_zone)
        if template is not None:
            yield ExactForm(original=part, rewrite=name, template=template)
