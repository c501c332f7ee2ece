"""How long explain takes: a fresh process, and a query in a warm one.

    python tests/benchmark_explain.py [DESCRIPTION.yaml ...]     default: all of tests/golden

Prints milliseconds. The fresh process is the whole command, interpreter start included; warm is
load, plan and print of one description, the best of several rounds.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

FRESH_RUNS = 7
WARM_ROUNDS = 7


def fresh(path: Path) -> list[float]:
    """Milliseconds of `stateplan explain` as a process of its own, per run."""
    command = [sys.executable, "-m", "stateplan.planner.cli", "explain", str(path)]
    took = []
    for _ in range(FRESH_RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        took.append((time.perf_counter() - start) * 1000)
    return took


def warm(path: Path) -> float | None:
    """Milliseconds of one query in this process; None where the query is refused."""
    import stateplan

    best = float("inf")
    for _ in range(WARM_ROUNDS):
        start = time.perf_counter()
        try:
            stateplan.load(path).explain("simple")
        except stateplan.StateplanError:
            return None
        best = min(best, (time.perf_counter() - start) * 1000)
    return best


def main(arguments: list[str]) -> None:
    golden = Path(__file__).resolve().parent / "golden"
    paths = [Path(name) for name in arguments] or sorted(golden.glob("*.yaml"))
    times = {path: took for path in paths if (took := warm(path)) is not None}
    runs = fresh(next(iter(times)))
    print(
        f"fresh process: median {statistics.median(runs):.0f} ms, "
        f"least {min(runs):.0f} ms, most {max(runs):.0f} ms ({len(runs)} runs)"
    )
    slowest = max(times, key=lambda path: times[path])
    print(
        f"warm query: median {statistics.median(times.values()):.1f} ms, "
        f"most {times[slowest]:.1f} ms ({slowest.stem}), {len(times)} queries"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
