"""Run random streams on our runtime and on Structured Streaming itself, and say how many agree.

    python tests/compare_random_streams.py --cases 20 --engine both --answers answers.jsonl
    python tests/compare_random_streams.py --case streams/keyed/3/5 --engine embedded
    python tests/compare_random_streams.py --cases 5 --engine turns
    python tests/compare_random_streams.py --suite

Each shape of the modules in stream_comparison/cases.py comes with so many seeds. Rows, watermarks,
state figures and error conditions must be the native ones, batch by batch. The embedded engine may
refuse a query with STATEPLAN_NOT_EXACT: these are counted by reason. `turns` changes the engine and
the number of tasks, at a restart behind each batch.
Native answers are kept in a file, so that an environment without Spark can compare with them;
`--suite` adds what that of the tests does not have. With --results a run can be cut into pieces:
the same command again goes on. Status 1 if a stream differs.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import embedded_environment
from stream_comparison.cases import ANSWERS, OPERATORS, SHAPES, SUITE, Name, what
from stream_comparison.native import SETTINGS, Answers
from stream_comparison.runs import Emitted, run_in_turns, run_part, run_whole
from stream_comparison.verdicts import Tally, Verdict, verdict
from stream_comparison.worker import Worker

ENGINES = {"spark": ("spark",), "embedded": ("embedded",), "both": ("spark", "embedded")}
HAS_SPARK = find_spec("pysail") is None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--engine", choices=[*ENGINES, "turns"], default="spark")
    parser.add_argument("--cases", type=int, default=1, help="seeds of each shape")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--batches", type=int, default=5, help="steps with rows in each stream")
    parser.add_argument("--family", choices=SHAPES, action="append", help="only these families")
    parser.add_argument("--shape", action="append", help="only these shapes")
    parser.add_argument("--case", action="append", default=[], help="only this stream, by its name")
    parser.add_argument("--suite", action="store_true", help="add what the tests' file has not")
    parser.add_argument("--answers", type=Path, help="a file that keeps the native answers")
    parser.add_argument("--results", type=Path, help="verdicts so far; new ones are added")
    parser.add_argument("--ahead", type=int, default=0, help="native answers asked for at once")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no stream after so long")
    return parser.parse_args()


def names(chosen: argparse.Namespace) -> Iterator[Name]:
    """The streams to run, one seed after the other."""
    if chosen.case:
        yield from map(Name.parse, chosen.case)
        return
    for seed in range(chosen.first, chosen.first + chosen.cases):
        for family in chosen.family or SHAPES:
            for shape in SHAPES[family]:
                if not chosen.shape or shape in chosen.shape:
                    yield Name(
                        family=family,
                        shape=shape,
                        seed=seed,
                        batches=chosen.batches,
                        restarts=chosen.engine == "turns",
                    )


def asked(names: Iterator[Name], answers: Answers, ahead: int) -> Iterator[Name]:
    """The streams, while Spark is asked about those that come next."""
    waiting: deque[tuple[Name, Future[Any]]] = deque()
    with ThreadPoolExecutor(max(ahead, 1)) as pool:
        for name in names:
            waiting.append((name, pool.submit(answers.of, name)))
            if len(waiting) > ahead:
                wait([waiting[0][1]])
                yield waiting.popleft()[0]
        yield from (name for name, _ in waiting)


def judge(answers: Answers, name: Name, run: Callable[[Name], Emitted], refuses: bool) -> Verdict:
    """What came of a stream; a run that raises what it should not differs."""
    want = answers.of(name)
    try:
        got = run(name)
    except Exception as error:
        return Verdict(kind="differs", texts=(f"raised {type(error).__name__}: {error}",))
    return verdict(want, got, ordered="ordered" in name.case(), may_refuse=refuses)


def main() -> int:
    chosen = arguments()
    logging.disable(logging.CRITICAL)  # PySpark logs each error that it raises
    with ExitStack() as stack:

        @cache
        def spark() -> Any:
            from faults.sparks import local_session

            session = local_session(SETTINGS)
            stack.callback(session.stop)
            return session

        worker = Worker(embedded_environment.python() if HAS_SPARK else Path(sys.executable))
        stack.callback(worker.stop)
        if chosen.suite:
            answers = Answers(ANSWERS, spark)
            for name in (*SUITE, *OPERATORS):
                answers.of(name)
            return 0
        answers = Answers(chosen.answers, spark if HAS_SPARK else None)

        def on_spark(part: Any) -> Emitted:
            return run_part(spark(), part)

        runners = {"spark": on_spark, "embedded": worker.run}
        ways: dict[str, Callable[[Name], Emitted]] = {
            engine: partial(run_whole, runners[engine]) for engine in ENGINES.get(chosen.engine, ())
        } or {"turns": partial(run_in_turns, list(runners.values()))}
        tally = Tally(chosen.results)
        deadline = time.monotonic() + chosen.seconds
        open_ = (name for name in names(chosen) if not all(tally.has(how, name) for how in ways))
        for name in asked(open_, answers, chosen.ahead):
            if time.monotonic() > deadline:
                break
            for how, run in ways.items():
                if tally.has(how, name):
                    continue
                found = judge(answers, name, run, how != "spark")
                tally.add(how, name, found)
                if found.kind == "differs":
                    print("\n".join([f"{how}: {name}: {what(name.case())}", *found.texts]))
                    sys.stdout.flush()
        print("\n".join(tally.lines()))
    return 1 if tally.differs else 0


if __name__ == "__main__":
    sys.exit(main())
