"""What Structured Streaming emits, kept in a file for those that have no Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import derive_scenarios
import random_tables

from .cases import Name
from .large import LargeLiveRun

Expectation = Mapping[str, Any]
# Short streams cost what is around them: the compiler of hot code, a process for each link that
# renaming a file looks for, checksums. None of it changes what Spark emits.
SETTINGS = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    # What Spark keeps of past queries for its web page, plans and all, would fill the heap.
    "spark.sql.ui.retainedExecutions": "5",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
}


class Answers:
    """The native answers by name: those of a file, and those that a live Spark gives.

    Args:
        path: JSON lines that new answers are added to; None: none are kept.
        spark: gives the session when the first answer is missing; None: there is no Spark.
    """

    def __init__(self, path: Path | None, spark: Callable[[], Any] | None) -> None:
        self._path, self._spark = path, spark
        self._lock = Lock()  # answers are asked for in several threads
        self._known: dict[str, Expectation] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self._known[entry["case"]] = entry["expect"]

    def of(self, name: Name) -> Expectation:
        """The `expect` of a case.

        Raises:
            LookupError: it is not in the file, and there is no Spark to ask.
        """
        text = str(name)
        if text not in self._known:
            if self._spark is None:
                raise LookupError(f"no answer for {text} in {self._path}, and no Spark to ask")
            with self._lock:
                spark = self._spark()
            self._known[text] = derived(spark, name)
            if self._path is not None:
                entry = {"case": text, "expect": self._known[text]}
                with self._lock, open(self._path, "a", encoding="utf-8") as file:
                    file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        return self._known[text]


def derived(spark: Any, name: Name) -> Expectation:
    """What a live Structured Streaming makes of a case, as any reader of the file would see it."""
    case = name.case()
    python = case.get("python")
    if python is not None:
        case["native"] = random_tables.native(python, case["sources"])
    live = LargeLiveRun if case.pop("large", False) else derive_scenarios.LiveRun
    found: Expectation = json.loads(json.dumps(derive_scenarios.derive(spark, case, live)))
    return found
