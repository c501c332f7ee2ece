"""Plan random streaming queries here and in a live Spark, and say how many agree.

    python tests/compare_random_queries.py 1000 --seed 7

Makes queries of every family (aggregates, windows, sessions, joins, ..., refused ones) in SQL and
in PySpark code; the same seed makes the same queries. Differences are grouped by what they look
like, one of each group is shrunk and shown. Needs the extras `spark` and `connect`.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from random_queries.cases import random_case
from random_queries.compare import Answers, Ask, Difference, compare, shrunk
from random_queries.live import LivePlanner

SEEDS_APART = 1_000_000


def live_spark(partition: list[LivePlanner]) -> Callable[[], Ask]:
    """Starts Spark when the first answer is needed, and leaves it in the list."""

    def start() -> Ask:
        partition.append(LivePlanner())
        return partition[0].derive

    return start


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("count", type=int, help="how many queries")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", action="append", help="only these families")
    parser.add_argument("--shrink", type=int, default=12, help="how many groups are shrunk")
    parser.add_argument("--tries", type=int, default=60, help="queries tried to shrink one")
    parser.add_argument("--show", type=int, default=12, help="how many groups are shown")
    parser.add_argument("--answers", type=Path, help="a file that keeps what Spark said")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop asking after so long")
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    started: list[LivePlanner] = []
    ask = Answers(chosen.answers, live_spark(started))
    begin = time.monotonic()
    totals: Counter[str] = Counter()
    groups: defaultdict[str, list[Difference]] = defaultdict(list)
    for number in range(chosen.count):
        if time.monotonic() - begin > chosen.seconds:
            break
        case = random_case(chosen.seed * SEEDS_APART + number)
        if chosen.family and case.family not in chosen.family:
            continue
        totals[case.family] += 1
        difference = compare(case, ask)
        if difference is not None:
            groups[difference.kind].append(difference)
    show(groups, chosen, ask, begin)
    report(totals, groups)
    ask.save()
    for planner in started:
        planner.stop()


def show(
    groups: dict[str, list[Difference]], chosen: argparse.Namespace, ask: Ask, begin: float
) -> None:
    """The largest groups, one difference of each."""
    largest = sorted(groups.items(), key=lambda group: -len(group[1]))
    for position, (kind, members) in enumerate(largest[: chosen.show]):
        example = min(members, key=lambda member: len(str(member.case.description)))
        if position < chosen.shrink and time.monotonic() - begin < chosen.seconds:
            example = shrunk(example, ask, chosen.tries)
        print(f"\n{'=' * 20} {len(members)} x {kind}\n{example.shown()}")


def report(totals: Counter[str], groups: dict[str, list[Difference]]) -> None:
    """Agreement by family, and the groups."""
    different = Counter(member.case.family for members in groups.values() for member in members)
    print()
    for family, count in totals.most_common():
        print(f"{family:8} {count - different[family]:5} of {count:5} agree")
    count = totals.total()
    agree = count - different.total()
    print(f"{'all':8} {agree:5} of {count:5} agree ({100 * agree / max(count, 1):.1f} %)")
    for kind, members in sorted(groups.items(), key=lambda group: -len(group[1]))[:40]:
        print(f"{len(members):5} {kind}")


if __name__ == "__main__":
    main()
