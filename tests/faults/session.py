"""Lives on one engine, until enough has broken."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .cases import BATCHES, KINDS
from .driver import gateway_of, start_server
from .faults import ON_A_CLUSTER, ON_EMBEDDED, ON_ITS_OWN, ON_LOCAL, Fault, FaultMaker, Kind
from .lives import Place, Refused
from .report import Results
from .sparks import cluster_session, local_session

WEIGHTS: dict[str, dict[Kind, int]] = {
    "local": ON_LOCAL,
    "cluster": ON_A_CLUSTER,
    "own": ON_ITS_OWN,
    "embedded": ON_EMBEDDED,
}


def lead_lives(
    on: str,
    root: Path,
    results: Results,
    *,
    faults: int,
    seeds: Iterable[int],
    kinds: Sequence[str] | None = None,
    queries: Sequence[str] = KINDS,
    given: Sequence[Fault] | None = None,
    seconds: float = 3600.0,
) -> None:
    """Lead lives until so many faults have come about.

    Args:
        on: local: one JVM for all; cluster: one with two executors; own: a JVM a run; embedded:
            the embedded engine in each run's process.
        root: a folder for the lives.
        results: gets the outcomes; lives that it has are not led again.
        faults: how many, those in the results included.
        seeds: of the lives.
        kinds: of faults; None: all that there can be.
        queries: the kinds of cases.
        given: the faults of each life, instead of those that its seed says.
        seconds: start no life after so long.
    """
    if results.count(on) >= faults:
        return
    deadline = time.monotonic() + seconds
    start_server()
    with _place(on, root, results, kinds, queries) as place:
        for seed in seeds:
            if results.count(on) >= faults or time.monotonic() > deadline:
                break
            if given is None and seed in results.led(on):
                continue
            try:
                outcome = place.lead(seed, given)
            except Refused as refused:
                results.refused[seed] = str(refused)
                continue
            results.add(on, outcome, place.maker)
            print(Results.line(on, outcome), file=sys.stderr, flush=True)


@contextmanager
def _place(
    on: str, root: Path, results: Results, kinds: Sequence[str] | None, queries: Sequence[str]
) -> Iterator[Place]:
    weights = {k: w for k, w in WEIGHTS[on].items() if kinds is None or k in kinds}
    maker = FaultMaker(weights, results.met(), results.steps)
    if on == "embedded":
        yield Place(root=root, reference="embedded", on="embedded", maker=maker, queries=queries)
        return
    session = cluster_session() if on == "cluster" else local_session()
    reference = gateway_of(session)
    try:
        yield Place(
            root=root,
            reference=reference,
            on="own" if on == "own" else reference,
            maker=maker,
            queries=queries,
            starts=2 if on == "own" else BATCHES,
            local_folder=session.conf.get("spark.local.dir") or "",
        )
    finally:
        session.stop()
