"""Compare `stateplan check` with what Spark did, over a directory of changed queries.

    python tests/check_evolutions.py DIR [--no-was]

DIR holds cases (`before`, `after`, `expect`) and `checkpoints/<id>.tar.gz`, in the form that
EVOLUTIONS.md describes. Printed are each verdict beside Spark's, and the rates of missed dangers
and of false alarms. Exit status 1 if a danger was missed.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import yaml

from stateplan.planner.description import parse_description
from stateplan.planner.evolution.check import check_against
from stateplan.planner.evolution.reading import read_checkpoint
from stateplan.planner.evolution.report import CheckReport
from stateplan.planner.evolution.verdicts import VERDICTS
from stateplan.planner.query import Query

_CONF = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}


def side(case: dict[str, Any], which: str) -> Query:
    """One side of a case as a query."""
    content = case[which]
    sources = {}
    for name, source in (content.get("sources") or case["sources"]).items():
        kept = {k: v for k, v in source.items() if k in ("schema", "static", "rows", "name")}
        sources[name] = kept | ({"path": source["dir"]} if "dir" in source else {})
    described = {
        "sources": sources,
        "output_mode": content.get("output_mode", "append"),
        "conf": {**_CONF, **(content.get("conf") or {})},
        **{k: content[k] for k in ("sql", "python") if k in content},
    }
    return Query.of(parse_description(described))


def expected(expect: dict[str, Any]) -> tuple[tuple[str, ...], str | None]:
    """The verdicts that fit what Spark did, and its condition."""
    if expect["restart"] != "accepted":
        return ("refused",), expect["error"].get("condition")
    meaning, since = expect.get("meaning"), expect.get("since_restart")
    if since == "same":
        return (("same",) if meaning == "same" else ("stale",)), None
    return (("stale", "differs") if meaning == "same" else ("differs",)), None


def archive_of(path: Path) -> Path:
    """The checkpoint of a case."""
    return path.parent / "checkpoints" / f"{path.stem}.tar.gz"


def checked(path: Path, *, with_was: bool) -> tuple[dict[str, Any], CheckReport]:
    """A case and what we say of it."""
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive_of(path)) as archive:
            archive.extractall(folder, filter="data")
        was = side(case, "before") if with_was else None
        return case, check_against(side(case, "after"), read_checkpoint(folder), was)


def main() -> int:
    """Check every case; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--no-was", action="store_true", help="with the checkpoint alone")
    options = parser.parse_args()
    missed, alarms, wrong, total = [], [], [], 0
    for path in sorted(options.directory.glob("*.yaml")):
        if not archive_of(path).exists():
            print(f"-         {path.stem}: it has no checkpoint")
            continue
        case, report = checked(path, with_was=not options.no_was)
        if "expect" not in case or (
            case["expect"]["restart"] == "accepted" and "meaning" not in case["expect"]
        ):
            print(f"-         {path.stem}: Spark says nothing of its meaning")
            continue
        total += 1
        fits, condition = expected(case["expect"])
        right = report.verdict in fits and report.condition == condition
        phase = (case["expect"].get("error") or {}).get("phase")
        if right and not options.no_was and report.phase != phase:
            print(f"PHASE     {path.stem}: {report.phase}; Spark: {phase}")
        rank = VERDICTS.index(report.verdict)
        dangerous = any(f in ("differs", "refused") for f in fits)
        if options.no_was:
            dangerous = fits == ("refused",)
        mark = "ok"
        if not right:
            wrong.append(path.stem)
            mark = "WRONG"
        if dangerous and rank < 2:
            missed.append(path.stem)
            mark = "MISSED"
        elif rank >= 2 and not any(f in ("differs", "refused") for f in fits):
            alarms.append(path.stem)
            mark = "ALARM"
        ours = f"{report.verdict} {report.condition or ''}".strip()
        spark = f"{' or '.join(fits)} {condition or ''}".strip()
        print(f"{mark:<9} {path.stem}: {ours}" + ("" if ours == spark else f"; Spark: {spark}"))
    print(
        f"{total} cases: {total - len(wrong)} right, {len(missed)} dangers missed "
        f"({_share(missed, total)}), {len(alarms)} false alarms ({_share(alarms, total)})"
    )
    return 1 if missed else 0


def _share(some: list[str], total: int) -> str:
    return f"{100 * len(some) / total:.1f} %" if total else "-"


if __name__ == "__main__":
    sys.exit(main())
