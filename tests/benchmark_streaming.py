"""stateplan's runtime beside native Structured Streaming: same machine, data and settings.

    python tests/benchmark_streaming.py                                    everything
    python tests/benchmark_streaming.py --work session,small-* --rounds 1  some of it
    python tests/benchmark_streaming.py --work window --only ours --batches 5 --profile
    python tests/benchmark_streaming.py --work window --results r.json     one piece after another
    python tests/benchmark_streaming.py --results r.json --show --plot r.svg --csv r.csv

Each system has a JVM of its own, so that neither collects the other's garbage; only one of them
works at any time. Runs alternate (stateplan, native, stateplan, ...), each with a fresh checkpoint
and batches to warm up that do not count. The table has for each work the median time of a batch
(least and most in brackets) of either system, the ratio, the figure to reach and whether it is;
--report writes it as Markdown, --plot draws the ratios, --results keeps every batch's time as JSON
and adds to what the file holds, --csv writes a line a batch.
"""

from __future__ import annotations

import argparse
import fnmatch
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.contest import compare
from benchmarks.report import COLUMNS, Comparison, markdown, phases
from benchmarks.results import added, kept, write, write_csv
from benchmarks.works import HDFS, ROCKSDB, WORKS, Work


def chosen(patterns: str) -> list[Work]:
    """The works whose names fit one of the patterns, in the order of the table."""
    wanted = patterns.split(",")
    found = [w for w in WORKS.values() if any(fnmatch.fnmatch(w.name, p) for p in wanted)]
    unknown = [p for p in wanted if not fnmatch.filter(WORKS, p)]
    if unknown:
        sys.exit(f"There is no work {', '.join(unknown)}; there are {', '.join(WORKS)}.")
    return found


def heading() -> str:
    """What was measured where."""
    import os

    import pyspark

    return (
        f"stateplan beside Structured Streaming, Spark {pyspark.__version__}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, local[2]"
    )


def compared(works: list[Work], arguments: argparse.Namespace) -> Iterator[Comparison]:
    """Run the works one after the other, each printed when it is done."""
    for work in works:
        for comparison in compare(
            work,
            Path(arguments.data),
            rounds=arguments.rounds,
            only=arguments.only,
            memory=arguments.memory,
        ):
            for name, cell in zip(COLUMNS, comparison.cells(), strict=True):
                print(f"{name:>20}  {cell}")
            if arguments.profile:
                for runs in filter(None, (comparison.ours, comparison.native)):
                    print(phases(runs))
            print(flush=True)
            yield comparison


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", default="*", help=f"of {', '.join(WORKS)}; * is a wildcard")
    parser.add_argument("--batches", type=int, help="batches of a run that count")
    parser.add_argument("--warmup", type=int, help="batches before these that do not count")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each system (2)")
    parser.add_argument("--only", choices=("ours", "native"), help="one system alone")
    parser.add_argument("--against", choices=(HDFS, ROCKSDB), help="one native state store alone")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="no memory run")
    parser.add_argument(
        "--results", metavar="FILE.json", help="keep every run here; runs add to those of before"
    )
    parser.add_argument("--show", action="store_true", help="run nothing: show what RESULTS holds")
    parser.add_argument("--csv", metavar="FILE.csv", help="write the time of every batch")
    parser.add_argument("--report", metavar="FILE.md", help="write the table as Markdown")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw the ratios (needs matplotlib)")
    parser.add_argument(
        "--data",
        default=str(Path(tempfile.gettempdir()) / "stateplan-benchmark"),
        help="where data are kept from one time to the next",
    )
    arguments = parser.parse_args(given)
    works = chosen(arguments.work)
    if arguments.batches:
        works = [replace(work, batches=arguments.batches) for work in works]
    if arguments.warmup is not None:
        works = [replace(work, warmup=arguments.warmup) for work in works]
    if arguments.against:
        stores = (arguments.against,)
        works = [replace(w, natives=stores) for w in works if arguments.against in w.natives]
    found = kept(Path(arguments.results)) if arguments.results else []
    for comparison in () if arguments.show else compared(works, arguments):
        found = added(found, [comparison])
        if arguments.results:  # at once: a run that is broken off later loses nothing
            write(Path(arguments.results), found, heading())
    text = markdown(found, heading())
    print(text)
    if arguments.report:
        Path(arguments.report).write_text(text, encoding="utf-8")
    if arguments.csv:
        write_csv(Path(arguments.csv), found)
    if arguments.plot:
        from benchmarks.plot import draw

        draw(found, Path(arguments.plot), heading())


if __name__ == "__main__":
    main()
