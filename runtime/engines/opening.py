"""From what the user asked for to an engine: a session to start from, and an engine of a query."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...planner.collecting import without_collections
from .choice import Choice, Installed, Purpose, choose_engine, master_of_environment
from .embedded_session import is_embedded
from .engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@without_collections()
def open_session(
    wanted: str = "auto",
    purpose: Purpose = "run",
    *,
    spark: SparkSession | None = None,
    master: str | None = None,
) -> tuple[SparkSession, Choice]:
    """The user's session on the engine that is asked for, and why it is that engine.

    Sessions start once in a process and end with it.

    Args:
        wanted: `auto`, `embedded` or `spark`.
        purpose: what is run.
        spark: a session that the user has.
        master: a Spark master URL.

    Raises:
        RuntimeFailure: there is no such engine, or it cannot be started here.
    """
    given = None if spark is None else ("embedded" if is_embedded(spark) else "spark")
    chosen = master
    if chosen is None and spark is None and wanted == "auto" and os.environ.get("SPARK_REMOTE"):
        chosen = master_of_environment()
    choice = choose_engine(
        wanted,
        purpose,
        session=given,  # type: ignore[arg-type]
        master=None if spark is not None else chosen,
        installed=Installed.here(),
    )
    if spark is not None:
        return spark, choice
    if choice.engine == "embedded":
        from .embedded_session import session

        return session(), choice
    from .spark_session import start_session

    return start_session(master), choice


def engine_on(spark: SparkSession) -> Engine:
    """An engine for one query, on a session of its own beside the user's."""
    if is_embedded(spark):
        from .embedded import EmbeddedEngine
        from .embedded_session import new_session

        return EmbeddedEngine(new_session())
    from .spark import SparkEngine

    return SparkEngine(spark)
