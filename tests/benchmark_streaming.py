"""stateplan's runtime beside native Structured Streaming: same machine, data and settings.

    python tests/benchmark_streaming.py                                    everything
    python tests/benchmark_streaming.py --set joins         main, ordinary, joins or unseen
    python tests/benchmark_streaming.py --work session,small-* --rounds 1  some of it
    python tests/benchmark_streaming.py --work window --only spark,floor --batches 5 --profile
    python tests/benchmark_streaming.py --work window --results r.json     one piece after another
    python tests/benchmark_streaming.py --results r.json --show --plot r.svg --csv r.csv
    python tests/benchmark_streaming.py --check                          the same rows, on a few

The systems: native Structured Streaming (`native`, and `native-rocksdb` where a work names it),
stateplan on Spark (`spark`) and embedded (`embedded`), and Spark's floor (`floor`): the same SQL
as a batch query over the files of one batch, warm, without state. Each has a process of its own,
with a JVM if it needs one, so that nobody collects another's garbage; only one of them works at any
time. Runs alternate (native, floor, spark, ...), each with a fresh checkpoint and batches to warm
up that do not count. The table has for each work the median time of a batch (least and most in
brackets), each engine's ratio to native, the figure to reach and whether it is; --report writes it
as Markdown, --plot draws the ratios, --results keeps every batch's time as JSON and adds to what
the file holds, --csv writes a line a batch.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from benchmarks.check import check
from benchmarks.contest import compare, process
from benchmarks.job import EMBEDDED, FLOOR, NATIVE, OTHERS, OURS, ROCKSDB, SPARK
from benchmarks.report import COLUMNS, Comparison, markdown, phases
from benchmarks.results import added, kept, write, write_csv
from benchmarks.work import Work, tiny
from benchmarks.works import WORKS

_PROJECT = Path(__file__).resolve().parent.parent
_SYSTEMS = (NATIVE, ROCKSDB, FLOOR, SPARK, EMBEDDED)
_CHECKED_ROWS = 500


def chosen(patterns: str, set_name: str | None) -> list[Work]:
    """The works whose names fit one of the patterns, in the order of the table."""
    wanted = patterns.split(",")
    found = [w for w in WORKS.values() if any(fnmatch.fnmatch(w.name, p) for p in wanted)]
    unknown = [p for p in wanted if not fnmatch.filter(WORKS, p)]
    if unknown:
        sys.exit(f"There is no work {', '.join(unknown)}; there are {', '.join(WORKS)}.")
    return [work for work in found if set_name in (None, work.set)]


def interpreters(arguments: argparse.Namespace) -> dict[str, str]:
    """The interpreter of each system that is to run."""
    wanted = arguments.only.split(",") if arguments.only else list(_SYSTEMS)
    known = (*_SYSTEMS, *OTHERS)
    unknown = sorted({*wanted} - {*known})
    if unknown:
        sys.exit(f"There is no system {', '.join(unknown)}; there are {', '.join(known)}.")
    pythons = {s: sys.executable for s in known if s in wanted}
    given = {EMBEDDED: arguments.embedded_python}
    given |= dict.fromkeys(OTHERS, arguments.others_python)
    for system, python in given.items():
        if system in pythons and not Path(python).exists():
            print(f"No {python}: {system} is left out.\n")
            del pythons[system]
        elif system in pythons:
            pythons[system] = python
    return pythons


def heading() -> str:
    """What was measured where."""
    return (
        f"stateplan beside Structured Streaming, Spark {version('pyspark')}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, local[2]"
    )


def compared(
    works: list[Work], pythons: dict[str, str], arguments: argparse.Namespace
) -> Iterator[Comparison]:
    """Run the works one after the other, each printed when it is done."""
    for work in works:
        for comparison in compare(
            work,
            Path(arguments.data),
            pythons=pythons,
            rounds=arguments.rounds,
            memory=arguments.memory,
        ):
            for name, cell in zip(COLUMNS, comparison.cells(), strict=True):
                print(f"{name:>20}  {cell}")
            for system, why in comparison.failures.items():
                print(f"{system:>20}  {why}")
            if arguments.profile:
                for system in (comparison.against, *OURS):
                    if system in comparison.runs:
                        print(phases(comparison.runs[system]))
            print(flush=True)
            yield comparison


def checked(works: list[Work], pythons: dict[str, str], root: Path) -> int:
    """Compare what the systems emit on a few rows; returns how many works differ."""
    systems = {s: python for s, python in pythons.items() if s == NATIVE or s in OURS}
    wrong = 0
    with ExitStack() as stack:
        places = {s: stack.enter_context(process(p)) for s, p in systems.items()}
        for work in works:
            problems = check(replace(tiny(work, _CHECKED_ROWS), batches=2), root, places)
            wrong += bool(problems)
            print(f"{work.name:>20}  {'; '.join(problems) or 'equal'}", flush=True)
    return wrong


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", default="*", help=f"of {', '.join(WORKS)}; * is a wildcard")
    parser.add_argument(
        "--set", choices=("main", "ordinary", "joins", "unseen"), help="one set alone"
    )
    parser.add_argument("--batches", type=int, help="batches of a run that count")
    parser.add_argument("--warmup", type=int, help="batches before these that do not count")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each system (2)")
    systems = f"of {', '.join(_SYSTEMS)} (all of these), {', '.join(OTHERS)}"
    parser.add_argument("--only", metavar="SYSTEMS", help=systems)
    parser.add_argument(
        "--embedded-python",
        metavar="PYTHON",
        default=str(_PROJECT / ".venv-embedded" / "bin" / "python"),
        help="the interpreter with the extra `embedded` (.venv-embedded/bin/python)",
    )
    parser.add_argument(
        "--others-python",
        metavar="PYTHON",
        default=str(_PROJECT / ".venv-bench" / "bin" / "python"),
        help="the interpreter with the extra `bench` (.venv-bench/bin/python)",
    )
    parser.add_argument("--check", action="store_true", help="compare rows and watermarks instead")
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
    works = chosen(arguments.work, arguments.set)
    if arguments.batches:
        works = [replace(work, batches=arguments.batches) for work in works]
    if arguments.warmup is not None:
        works = [replace(work, warmup=arguments.warmup) for work in works]
    if arguments.check:
        sys.exit(checked(works, interpreters(arguments), Path(arguments.data)) > 0)
    found = kept(Path(arguments.results)) if arguments.results else []
    pythons = {} if arguments.show else interpreters(arguments)
    for comparison in () if arguments.show else compared(works, pythons, arguments):
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
