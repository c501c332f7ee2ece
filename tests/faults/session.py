"""Lives on one Spark, until enough has broken."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .cases import BATCHES
from .driver import gateway_of, start_server
from .faults import ON_A_CLUSTER, ON_ITS_OWN, ON_LOCAL, Fault, FaultMaker, Kind
from .lives import Place
from .report import Results
from .sparks import cluster_session, local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WEIGHTS: dict[str, dict[Kind, int]] = {
    "local": ON_LOCAL,
    "cluster": ON_A_CLUSTER,
    "own": ON_ITS_OWN,
}


def lead_lives(
    spark: str,
    root: Path,
    results: Results,
    *,
    faults: int,
    seeds: Iterable[int],
    kinds: Sequence[str] | None = None,
    given: Sequence[Fault] | None = None,
    seconds: float = 3600.0,
) -> None:
    """Lead lives until so many faults have come about.

    Args:
        spark: local: one JVM for all; cluster: one with two executors; own: a JVM a run.
        root: a folder for the lives.
        results: gets the outcomes; lives that it has are not led again.
        faults: how many, those in the results included.
        seeds: of the lives.
        kinds: of faults; None: all that the Spark can have.
        given: the faults of each life, instead of those that its seed says.
        seconds: start no life after so long.
    """
    if results.count(spark) >= faults:
        return
    deadline = time.monotonic() + seconds
    start_server()
    session = cluster_session() if spark == "cluster" else local_session()
    try:
        place = _place(spark, session, root, results, kinds)
        for seed in seeds:
            if results.count(spark) >= faults or time.monotonic() > deadline:
                break
            if given is None and seed in results.led(spark):
                continue
            outcome = place.lead(seed, given)
            results.add(spark, outcome, place.maker)
            print(Results.line(spark, outcome), file=sys.stderr, flush=True)
    finally:
        session.stop()


def _place(
    spark: str,
    session: SparkSession,
    root: Path,
    results: Results,
    kinds: Sequence[str] | None,
) -> Place:
    weights = {k: w for k, w in WEIGHTS[spark].items() if kinds is None or k in kinds}
    reference = gateway_of(session)
    starts = 2 if spark == "own" else BATCHES
    return Place(
        root=root,
        reference=reference,
        gateway=None if spark == "own" else reference,
        maker=FaultMaker(weights, results.met(), results.steps),
        starts=starts,
        local_folder=session.conf.get("spark.local.dir") or "",
    )
