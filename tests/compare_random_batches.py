"""Run random queries over rows at rest on Spark and on the embedded engine, and compare them.

    python tests/compare_random_batches.py 200 --seed 3 --embedded-python .venv-embedded/bin/python

They are what scripts and functions of `foreachBatch` ask of rows at rest; the same seed makes the
same queries. Needs the extra `spark`, and another environment with the embedded engine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from random_batches.queries import write_tables

_ANSWERS = Path(__file__).resolve().parent / "random_batches" / "answers.py"


def main() -> None:
    """Print how many answers are equal, and what differs; fail if something does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("count", type=int, help="how many queries")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first query")
    parser.add_argument("--embedded-python", required=True, metavar="PATH")
    given = parser.parse_args()
    embedded = [given.embedded_python, "-m", "stateplan.planner.cli", "run", "--engine", "embedded"]
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        answers = []
        for name, command in (("spark", [sys.executable]), ("embedded", embedded)):
            out = f"{folder}/{name}.answers"
            arguments = [str(_ANSWERS), folder, str(given.seed), str(given.count), out]
            subprocess.run([*command, *arguments], check=True, capture_output=True)
            answers.append([json.loads(line) for line in Path(out).read_text().splitlines()])
    sparks, ours = answers
    different = [seed for seed in range(given.count) if sparks[seed] != ours[seed]]
    for seed in different:
        print(f"query {given.seed + seed}:")
        for name, lines in (("spark", sparks[seed]), ("embedded", ours[seed])):
            others = sparks[seed] if name == "embedded" else ours[seed]
            own = [line for line in lines if line not in others]
            print(f"  {name}: {'; '.join(own[:3]) or 'fewer rows'}"[:300])
    print(f"{given.count - len(different)} of {given.count} queries have Spark's answer")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
