"""What a live Spark says of the golden queries, compared with what the files say, or written there.

    python tests/derive_golden.py [TOPIC|CASE ...] [--write]      default: all of tests/golden

Prints each case whose plan or refusal is another one. With `--write` it goes into the file of its
topic (golden_cases.py), as it does for a new case, which has none. Needs the extra `spark`.
"""

from __future__ import annotations

import sys

from golden_cases import FOLDER, read, write
from random_queries.live import LivePlanner


def main(arguments: list[str]) -> int:
    wanted = {each for each in arguments if each != "--write"}
    planner = LivePlanner()
    different = 0
    for path in sorted(FOLDER.glob("*.yaml")):
        changed = {}
        for case in read(path):
            if wanted and not wanted & {case.topic, case.name}:
                continue
            plans = {mode: planner.derive(case.description, mode) for mode in case.plans}
            if plans != case.plans:
                changed[case.name] = plans
                print(f"{case.topic}: {case.name}")
        if changed and "--write" in arguments:
            write(path, changed)
        different += len(changed)
    planner.stop()
    return 1 if different and "--write" not in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
