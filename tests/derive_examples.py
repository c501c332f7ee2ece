"""Write what a live Spark plans for the examples of the guide and of Nexmark.

    python tests/derive_examples.py

`examples/guide/x.py` gets `tests/examples/x.plan`, the plans of all streams that it starts in turn,
and `examples/nexmark/q.sql` its plan or refusal; the pipeline of `examples/jobs` the plan of each
flow, by name. `pipeline` as an argument derives that alone. Needs the extra `spark`.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from example_cases import GUIDE, PIPELINE, PLANS, SEPARATOR, nexmark_cases, shown_plans
from live_pipeline import pipeline_plans
from pyspark.sql.streaming.readwriter import DataStreamWriter
from random_queries.live import LivePlanner

SOURCES = ["devices", "events", "words", "clicks", "products", "impressions", "first", "second"]


def guide_plans(planner: LivePlanner, script: Path) -> str:
    """The plans of a script's streams; nothing is started."""
    plans: list[str] = []

    def start(self: Any, *_: Any, **__: Any) -> Any:
        plans.append(planner.started(self._df, self.stateplan_mode))
        return Idle()

    def output_mode(self: Any, mode: str) -> Any:
        self.stateplan_mode = mode
        return self

    writer: Any = DataStreamWriter
    writer.stateplan_mode = "append"
    writer.start = writer.toTable = start
    writer.outputMode = output_mode
    runpy.run_path(str(script), run_name="__main__")
    return SEPARATOR.join(text.replace(f"file:{os.getcwd()}/", "") for text in plans)


class Idle:
    """A query that was not started."""

    def awaitTermination(self) -> None:
        """Nothing runs."""


def main() -> None:
    PLANS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sp-") as folder:
        for name in SOURCES:
            (Path(folder) / name).mkdir()
        os.chdir(folder)  # before Java starts: relative paths are meant from there
        planner = LivePlanner()
        derive(planner)
        planner.stop()


def derive(planner: LivePlanner) -> None:
    """Write all plans."""
    derive_pipeline(planner)
    if "pipeline" in sys.argv[1:]:
        return
    for name, case in nexmark_cases().items():
        (PLANS / f"{name}.plan").write_text(planner.derive(case) + "\n", encoding="utf-8")
    for script in GUIDE:
        text = guide_plans(planner, script)
        (PLANS / f"{script.stem}.plan").write_text(text + "\n", encoding="utf-8")
        print(script.stem, text.count("== Physical Plan =="))


def derive_pipeline(planner: LivePlanner) -> None:
    """Write the plans of the example pipeline's flows."""
    settings, files = PIPELINE
    landing = Path.cwd() / "landing"  # Spark looks whether it is there
    for name in ("web", "store", "customers"):
        (landing / name).mkdir(parents=True)
    os.environ["LANDING"] = str(landing)
    plans = pipeline_plans(planner, files, settings)
    tables = f"file:{Path.cwd()}/spark-warehouse/"
    for name, plan in plans.items():
        plan = plan.replace(f"file:{landing}", "/data/landing").replace(tables, "")
        plans[name] = plan.replace(str(landing), "/data/landing")
    text = shown_plans(plans)
    (PLANS / "pipeline.plan").write_text(text, encoding="utf-8")
    print("pipeline", len(plans))


if __name__ == "__main__":
    main()
