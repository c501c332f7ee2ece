"""DuckDB over the files of one batch after the other: no stream, no state, two threads."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb

from ..job import Job, Run

_TEXTS = {
    "session": """
        WITH marked AS (
            SELECT *, coalesce(ts - lag(ts) OVER by_time > INTERVAL 5 SECONDS, true) AS first
            FROM {files} WINDOW by_time AS (PARTITION BY key ORDER BY ts)
        ), numbered AS (
            SELECT *, sum(first::INT) OVER (PARTITION BY key ORDER BY ts
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS session FROM marked
        )
        SELECT key, min(ts) AS start, max(ts) + INTERVAL 5 SECONDS AS ends, count(*) AS n,
            sum(value) AS total FROM numbered GROUP BY key, session""",
    "window": """
        SELECT time_bucket(INTERVAL 10 SECONDS, ts) AS start, key, count(*) AS n,
            sum(value) AS total FROM {files} GROUP BY 1, 2""",
    "dedup": "SELECT DISTINCT ON (key, ts) * FROM {files}",
}


def run(job: Job) -> Run:
    """Run the work's SQL over each batch's files."""
    (one,) = job.inputs
    assert one.files is not None
    files = sorted(str(path) for path in Path(one.path).glob("batch-*"))
    connection = duckdb.connect(config={"threads": 2})
    seconds, emitted = [], 0
    for number in range(job.counted[1]):
        start = time.monotonic()
        batch = files[number * one.files : (number + 1) * one.files]
        text = _TEXTS[job.work].format(files=f"read_parquet({batch!r})")
        emitted += sum(part.num_rows for part in connection.sql(text).to_arrow_reader())
        seconds.append(time.monotonic() - start)
    return Run(system=job.system, seconds=seconds[job.counted[0] :], rows=(), emitted=emitted)
