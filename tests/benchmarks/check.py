"""Whether the systems give the same rows and watermarks: a figure for a wrong answer is none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .contest import Failed, Process, run
from .job import NATIVE, Run
from .work import Work


def check(work: Work, root: Path, places: Mapping[str, Process]) -> list[str]:
    """Compare what stateplan emits with what native does, batch by batch.

    Args:
        work: a small one.
        root: where the data are kept.
        places: a process for each system; native's among them.

    Returns:
        What differs or fails, a line a system.
    """
    root.mkdir(parents=True, exist_ok=True)
    native = run(places[NATIVE], work, NATIVE, root, keep_rows=True)
    problems = []
    for system, place in places.items():
        if system == NATIVE:
            continue
        try:
            ours = run(place, work, system, root, keep_rows=True)
        except Failed as error:
            problems.append(f"{system} fails: {error}")
            continue
        difference = differing(native, ours, ordered=work.ordered)
        if difference:
            problems.append(f"{system}: {difference}")
    return problems


def differing(native: Run, ours: Run, *, ordered: bool) -> str:
    """The first difference between two runs whose rows were kept; empty if there is none."""
    if native.watermarks != ours.watermarks:
        return f"watermarks {ours.watermarks}, native {native.watermarks}"
    assert native.kept is not None and ours.kept is not None
    for batch in sorted({*native.kept, *ours.kept}, key=int):
        theirs, here = list(native.kept.get(batch, ())), list(ours.kept.get(batch, ()))
        if not ordered:
            theirs, here = sorted(theirs), sorted(here)
        if theirs != here:
            pairs = (p for p in zip(theirs, here, strict=False) if p[0] != p[1])
            first = next((f"; first {o}, native {n}" for n, o in pairs), "")
            return f"batch {batch}: {len(here)} rows, native {len(theirs)}{first}"
    return ""
