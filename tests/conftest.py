"""One Spark session for all tests that need one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A small local Spark: two cores, UTC, no web page. Fails with one line if there is no Java."""
    from stateplan.planner.model.errors import StateplanError
    from stateplan.runtime.session import start_session

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.driver.memory": "3g",
        # What Spark keeps of past queries for its web page, plans and all, would fill the heap.
        "spark.sql.ui.retainedExecutions": "5",
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "200",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.python.worker.reuse": "true",
    }
    try:
        session = start_session("local[2]", "stateplan-tests", settings)
    except StateplanError as error:
        pytest.fail(str(error), pytrace=False)
    yield session
    session.stop()
