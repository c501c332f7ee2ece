"""Prepare the flights data and run descriptions over it.

    python examples/flights/run.py [NAME ...]     default: departures-per-hour

The names are those of the YAML files here. Run it again: a finished query finds nothing new.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import prepare

HERE = Path(__file__).resolve().parent


def run(name: str) -> int:
    """Run one description as `stateplan run` does; show the first rows of what it wrote."""
    command = [sys.executable, "-m", "stateplan.planner.cli", "run", str(HERE / f"{name}.yaml")]
    status = subprocess.run(command, check=False).returncode
    out = HERE / "out" / name
    if status == 0 and out.is_dir():
        table = pd.read_parquet(out)
        print(table.sort_values(table.columns[0], ignore_index=True).head(10).to_string())
        print(f"{len(table):,} rows in {out.relative_to(HERE.parent.parent)}")
    return status


if __name__ == "__main__":
    files = prepare.write(HERE / "data")
    print(f"{files} files of reports, {prepare.REPORTS_A_FILE:,} a file")
    sys.exit(max(run(name) for name in sys.argv[1:] or ["departures-per-hour"]))
