"""The settings of the Spark session that batches run on, and its master."""

from __future__ import annotations

from typing import TypeGuard

from ...planner.model.settings.conf import Conf

# Rows of more than 32 KB on average want a lower number of them.
_ARROW_BATCHES = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}


def session_settings(tasks: int, conf: Conf) -> dict[str, str]:
    """The settings of the session that batches run on; the loop sets them on its own session.

    Adaptive execution would coalesce partitions and part the stores from their tasks. The excluded
    optimizer rules would drop an exchange, or a whole stateful operator, over an empty batch or
    below a filter that is never true. With a limit on an Arrow batch's bytes Spark sums up the
    batch's size row by row, which takes more than all the rest of the way to Python: rows alone
    limit it, unless the query says otherwise.
    """
    rules = (
        "PropagateEmptyRelation",
        "ConvertToLocalRelation",
        "OptimizeOneRowPlan",
        "PruneFilters",
        "OptimizeLimitZero",
    )
    prefix = "org.apache.spark.sql.catalyst.optimizer."
    return {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(tasks),
        "spark.sql.session.timeZone": conf.time_zone,
        "spark.sql.ansi.enabled": conf["spark.sql.ansi.enabled"],
        "spark.sql.caseSensitive": conf["spark.sql.caseSensitive"],
        "spark.sql.optimizer.excludedRules": ",".join(prefix + rule for rule in rules),
        "spark.sql.legacy.allowHashOnMapType": "true",
        "spark.sql.requireAllClusterKeysForDistribution": "false",
        "spark.sql.execution.arrow.useLargeVarTypes": "false",
        **{key: conf.settings.get(key, value) for key, value in _ARROW_BATCHES.items()},
    }


def default_tasks(stores: int, cores: int) -> int:
    """As many tasks as there are cores, but no more than stores, as Spark has; at least 1."""
    return max(1, min(stores, cores))


def is_remote(master: str | None) -> TypeGuard[str]:
    """Whether a master URL is that of a Spark Connect server, which runs already."""
    return master is not None and master.startswith("sc://")
