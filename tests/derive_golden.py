"""Write golden plans from a live Spark: for each description, the plan or the refusal beside it.

    python tests/derive_golden.py [DESCRIPTION.yaml ...]     default: all of tests/golden

A description `x.yaml` gets `x.plan`: Spark's simple explain text after `normalise`, or
`condition`, `phase` and `message` of its refusal. `formatted/x.plan` is the same plan in another
explain mode, that of the folder's name. Needs the extra `spark`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml
from random_queries.live import LivePlanner

GOLDEN = Path(__file__).resolve().parent / "golden"


def main(arguments: list[str]) -> None:
    paths = [Path(name) for name in arguments] or sorted(GOLDEN.glob("*.yaml"))
    planner = LivePlanner()
    for path in paths:
        plan = planner.derive(yaml.safe_load(path.read_text(encoding="utf-8")))
        path.with_suffix(".plan").write_text(plan + "\n", encoding="utf-8")
        print(path.stem, plan.split("\n", 1)[0])
    for path in sorted(GOLDEN.glob("*/*.plan")) if not arguments else []:
        description = (GOLDEN / path.name).with_suffix(".yaml").read_text(encoding="utf-8")
        plan = planner.derive(yaml.safe_load(description), path.parent.name)
        path.write_text(plan + "\n", encoding="utf-8")
    planner.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
