"""Run Nexmark's queries on a generated stream; --engine native is Structured Streaming itself.

    python examples/nexmark/run.py                                   all queries, 100,000 events
    python examples/nexmark/run.py q5 q8 --events 2000000 --engine native
    python examples/nexmark/run.py --events 2000000 --engine embedded

Each line has a query's name, its seconds from start to end, batches and rows. The stream lies in
ten files a kind of event, a batch takes one of each. `--engine batch` is Spark with the same SQL as
one batch query. q19 ranks a stream, which Spark refuses.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import events
import yaml

import stateplan

HERE = Path(__file__).resolve().parent
QUERIES = {path.stem: path.read_text(encoding="utf-8") for path in HERE.glob("q*.sql")}
NAMES = sorted(QUERIES.keys() - {"q19"}, key=lambda name: int(name[1:]))
CATALOG: dict[str, Any] = yaml.safe_load((HERE / "catalog.yaml").read_text(encoding="utf-8"))
CONF = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4"}
Take = Callable[[Any, int], None]


def mode_of(sql: str) -> str:
    """The output mode that a query's first line names, or append."""
    found = re.match(r"-- \((\w+) mode\)", sql)
    return found[1] if found else "append"


def path_of(folder: Path, name: str, sql: str) -> str:
    """Where a stream or table lies: where a watermark closes windows, with what closes them."""
    if name not in events.STREAMS:
        return str(folder / name)
    return str(folder / ("closed" if "WATERMARK" in sql else "open") / name)


def stream(name: str, folder: Path, engine: str, take: Take) -> None:
    """Run a query on stateplan's runtime; `take` gets each batch's DataFrame and number."""
    sql = QUERIES[name]
    sources = {}
    for source, described in CATALOG.items():
        entry = {"schema": described} if isinstance(described, str) else dict(described)
        entry |= {"format": "parquet", "path": path_of(folder, source, sql)}
        if not entry.get("static"):
            entry["options"] = {"maxFilesPerTrigger": 1}
        sources[source] = entry
    query = stateplan.sql(sql, sources=sources, output_mode=mode_of(sql), conf=CONF)
    with tempfile.TemporaryDirectory() as checkpoint:
        handle = query.run(engine=engine, sink=take, trigger="available_now", checkpoint=checkpoint)
        handle.await_termination()


def native(spark: Any, name: str, folder: Path, take: Take) -> None:
    """Run a query on Structured Streaming."""
    sql = QUERIES[name]
    for source, described in CATALOG.items():
        path = path_of(folder, source, sql)
        if isinstance(described, str):
            reader = spark.readStream.schema(described).option("maxFilesPerTrigger", 1)
            reader.parquet(path).createOrReplaceTempView(source)
        else:
            spark.read.parquet(path).createOrReplaceTempView(source)
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = spark.sql(sql).writeStream.outputMode(mode_of(sql)).foreachBatch(take)
        writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer.start().awaitTermination()


def batch(spark: Any, name: str, folder: Path) -> Any:
    """The DataFrame of a query over all events at once."""
    for source in CATALOG:
        path = folder / ("open" if source in events.STREAMS else "") / source
        spark.read.parquet(str(path)).createOrReplaceTempView(source)
    sql = re.sub(r"WATERMARK \w+ DELAY OF INTERVAL \d+ SECONDS", "", QUERIES[name])
    return spark.sql(sql.replace("STREAM ", ""))


def main(names: Iterable[str], engine: str, folder: Path) -> None:
    """Run queries one by one and print what each took."""
    spark: Any = None
    if engine in ("native", "batch"):
        from pyspark.sql import SparkSession

        builder: Any = SparkSession.builder
        spark = builder.master("local[2]").getOrCreate()
        for key, value in CONF.items():
            spark.conf.set(key, value)
    for name in names:
        counts: list[int] = []

        def count(frame: Any, number: int, counts: list[int] = counts) -> None:
            counts.append(frame.count())

        started = time.perf_counter()
        if engine == "native":
            native(spark, name, folder, count)
        elif engine == "batch":
            count(batch(spark, name, folder), 0)
        else:
            try:
                stream(name, folder, engine, count)
            except stateplan.StateplanError as error:
                print(f"{name:4} {error}")
                continue
        seconds = time.perf_counter() - started
        print(f"{name:4} {seconds:8.2f} s {len(counts):4} batches {sum(counts):10,} rows")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", default=NAMES, metavar="QUERY")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--engine", default="auto", help="auto, embedded, spark, native or batch")
    parser.add_argument("--folder", type=Path, help="keeps the events; default: a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = given.folder or Path(temporary)
        events.write(place, given.events)
        main(given.names, given.engine, place)
