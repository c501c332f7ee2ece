"""Break queries over every stateful operator, again and again, and see that nothing is lost.

    python tests/inject_faults.py --faults 300 --seed 1 --report faults.md --json faults.json
    python tests/inject_faults.py --faults 300 --seed 1 --results lives.jsonl --minutes 2
    python tests/inject_faults.py --faults 300 --seed 1 --on embedded
    python tests/inject_faults.py --life 123 --on local --with "step 45; moment after 1.20 s"
    python tests/inject_faults.py --corruption --report corruption.md

Each life is a query of its seed with some faults: a driver that is killed at a step of the batch
protocol, a worker or an executor in the middle of a task, tasks that run twice, and so on (the
report says what). It is restarted until it has read everything; then the sink's content and the
state must be those of the fault-free life. Status 1 if a life differs. Lives are led on Spark (on
one machine, on a cluster, on a JVM for each run) or on the embedded engine, where it is installed.
The report names for each life the command that leads it again, alone. With --results a run can be
cut into pieces: the same command again goes on with the next seeds. With --corruption each file of
a checkpoint is damaged instead: an error must name it and say what to do, or all must be as if
nothing had happened.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from faults.cases import KINDS
from faults.corruption import compact, damage_all, table
from faults.faults import MEANING, Fault
from faults.report import Results
from faults.session import lead_lives
from faults.sparks import local_session

SHARES = {"local": 0.8, "cluster": 0.15, "own": 0.05}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--faults", type=int, default=300, help="how many faults to bring about")
    parser.add_argument("--seed", type=int, default=1, help="the first life's seed")
    parser.add_argument("--on", choices=["spark", *SHARES, "embedded"], default="spark")
    parser.add_argument("--kinds", help=f"only these kinds of faults: {','.join(MEANING)}")
    parser.add_argument("--queries", help=f"only these kinds of queries: {', '.join(KINDS)}")
    parser.add_argument("--life", type=int, help="one life only, by its seed")
    parser.add_argument("--with", dest="given", help="its faults, as the report names them")
    parser.add_argument(
        "--corruption", action="store_true", help="damage every file in every way instead"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="start no life after so long")
    parser.add_argument("--report", type=Path, help="where to write the report (Markdown)")
    parser.add_argument("--json", type=Path, help="where to write the report (JSON)")
    parser.add_argument("--results", type=Path, help="lives so far, JSON lines; new ones are added")
    parser.add_argument("--folder", type=Path, help="where lives are led; those that fail stay")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    root = chosen.folder or Path(tempfile.mkdtemp(prefix="stateplan-lives-"))
    if chosen.corruption:
        return damage_files(root, chosen)
    results = Results(chosen.results)
    one = chosen.life is not None
    for on, share in SHARES.items() if chosen.on == "spark" else ((chosen.on, 1.0),):
        lead_lives(
            on,
            root,
            results,
            faults=sys.maxsize if one else round(chosen.faults * share),
            seeds=[chosen.life] if one else itertools.count(chosen.seed),
            kinds=chosen.kinds.split(",") if chosen.kinds else None,
            queries=chosen.queries.split(",") if chosen.queries else KINDS,
            given=[Fault.parse(text) for text in chosen.given.split(";")] if chosen.given else None,
            seconds=60 * chosen.minutes * share,
        )
    if chosen.report:
        chosen.report.write_text(results.report())
    if chosen.json:
        chosen.json.write_text(json.dumps(results.figures(), indent=1))
    print(results.summary())
    return 1 if results.wrong else 0


def damage_files(root: Path, chosen: argparse.Namespace) -> int:
    """Damage every file of a checkpoint and an output's log in every way."""
    compact(2)
    session = local_session()
    try:
        outcomes = []
        for outcome in damage_all(session, root, chosen.seed):
            came = " | ".join(outcome.wrong) or outcome.error or "harmless"
            print(f"{outcome.file} {outcome.damage}: {came}", file=sys.stderr, flush=True)
            outcomes.append(outcome)
    finally:
        session.stop()
    if chosen.report:
        chosen.report.write_text("\n".join(["# Damaged files", "", *table(outcomes), ""]))
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    named = sum(outcome.error is not None for outcome in outcomes)
    wrong = sum(bool(outcome.wrong) for outcome in outcomes)
    print(f"{len(outcomes)} damages: {named} named, the others harmless; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
