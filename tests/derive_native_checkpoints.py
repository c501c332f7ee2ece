"""Writes tests/native_checkpoints: stopped native queries, and what Spark emits of them then.

    python tests/derive_native_checkpoints.py [NAME ...]

Each query of native_queries.py runs over four files; its sink fails at the batch of the third,
which leaves a batch whose offsets are planned and that is not committed. The checkpoint as it is
then goes into an archive, with the rows that Spark emits once the query is started again. Some
queries keep their state in RocksDB as well.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from native_queries import HDFS, QUERIES, ROCKSDB, Stopped, World

FOLDER = Path(__file__).resolve().parent / "native_checkpoints"
COMPLETE_BATCHES = 2


def main(names: list[str]) -> None:
    """Derive the archives of some queries, by default all."""
    from stateplan.runtime.engines.spark_session import start_session

    # Of a few rows, generated code takes longer to compile than to run.
    settings = {"spark.ui.enabled": "false", "spark.sql.codegen.wholeStage": "false"}
    spark = start_session("local[2]", "derive", settings)
    FOLDER.mkdir(exist_ok=True)
    for name in names or list(QUERIES):
        for kind, provider in (("hdfs", HDFS), ("rocksdb", ROCKSDB)):
            query = QUERIES[name]
            if provider not in query.on:
                continue
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                world, running = World(folder / "input"), folder / "running"
                # The third file is read in batch 2: nothing moves before all data of a run is read.
                first = world.native(spark, query, provider, running, fails=2)
                shutil.copytree(running, folder / "stopped")
                then = world.native(spark, query, provider, running)
                stopped = Stopped(folder / "stopped", then)
                archive = FOLDER / f"{name.replace(' ', '-')}-{kind}.zip"
                stopped.write(archive, folder / "input", running)
            print(name, kind, {n: len(rows) for n, rows in {**first, **then}.items()}, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
