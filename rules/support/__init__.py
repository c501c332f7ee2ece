"""What streaming does not support: the checks between analysis and planning."""

from __future__ import annotations

from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.settings.conf import Conf
from .operators import check_operators
from .queries import check_chains, check_encoding, check_output_mode, refuse

__all__ = ["check_for_streaming"]


def check_for_streaming(plan: LogicalPlan, output_mode: str, conf: Conf) -> None:
    """Refuse an analyzed query that a stream cannot run in the output mode.

    The checks, their order and their words are those of Spark's UnsupportedOperationChecker:
    a stream at all, the output mode, each operator from the sources up, then chains of stateful
    operators. `output_mode` is `append`, `update` or `complete`.

    Raises:
        StreamingCheckError: the query is refused.
    """
    if not plan.is_streaming:
        raise refuse(
            "Queries without streaming sources cannot be executed with writeStream.start()",
            plan,
            conf,
            hint="Read at least one source with FROM STREAM.",
        )
    check_encoding(plan, conf)
    check_output_mode(plan, output_mode)
    check_operators(plan, output_mode, conf)
    check_chains(plan, output_mode, conf)
