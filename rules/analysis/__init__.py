"""Analysis: from an unresolved plan to one in which every name and type is known."""

from __future__ import annotations

from ...planner.model.catalog import Catalog
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.settings.conf import Conf
from ..common.fresh_ids import inline_ctes
from .analyzer import Analyzer
from .context import Context
from .names.names import without_inner_aliases
from .nondeterministic import pull_out_nondeterministic
from .operators import without_watermarks_of_tables
from .refusals.checks import check_analysis

__all__ = ["analyze", "inline_ctes"]


def analyze(
    plan: LogicalPlan, catalog: Catalog, conf: Conf, *, at_once: bool = True
) -> LogicalPlan:
    """The plan with columns, types, implicit casts and time windows resolved as Spark does.

    The shape is that of Spark's own analyzed plan; definitions of WITH stay beside it (WithCTE)
    until the optimizer's `inline_ctes`.

    Args:
        at_once: it is a whole statement, not one step of a DataFrame.

    Raises:
        AnalysisError: Spark's analyzer refuses the query; condition and words are Spark's.
    """
    resolved = Analyzer(Context(catalog=catalog, conf=conf, at_once=at_once)).analyze(plan)
    # Before the check: the plan in its messages has no names within expressions either.
    resolved = without_inner_aliases(resolved)
    check_analysis(resolved, conf)
    if not resolved.resolved:
        return resolved
    return pull_out_nondeterministic(without_watermarks_of_tables(resolved))
