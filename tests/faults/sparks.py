"""The Sparks that lives run on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[2,3]"  # two cores, and a task may fail twice
CLUSTER = "local-cluster[2,1,1024]"  # two executors, processes of their own
_SMALL = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.python.worker.reuse": "true",
    "spark.cleaner.periodicGC.interval": "1h",
}
_ON_A_CLUSTER = {
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "6",
    "spark.stage.maxConsecutiveAttempts": "8",
    "spark.excludeOnFailure.enabled": "false",
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.25",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.minTaskRuntime": "500ms",
}


def local_session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """One process; its workers may be killed, its tasks are tried three times."""
    return _session(LOCAL, settings or {})


def cluster_session() -> SparkSession:
    """Two executors on this machine that may be killed; slow tasks are run a second time."""
    return _session(CLUSTER, _ON_A_CLUSTER)


def _session(master: str, settings: Mapping[str, str]) -> SparkSession:
    from stateplan.runtime.engines.spark_session import start_session

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # A folder of its own: some faults delete what shuffles have written there.
    folder = {"spark.local.dir": tempfile.mkdtemp(prefix="stateplan-faults-")}
    return start_session(master, "stateplan-faults", {**_SMALL, **folder, **settings})
