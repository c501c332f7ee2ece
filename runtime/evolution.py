"""Restarts of changed queries: what the checkpoint knows of the old one, and whether it goes on."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from ..planner.evolution.check import compare
from ..planner.evolution.printing import report_text
from ..planner.evolution.reading import DOCUMENT, read_folder
from ..planner.evolution.side import document_of, side_from, side_of
from ..planner.incremental_execution import IncrementalExecution
from ..planner.model.errors import RuntimeFailure
from ..planner.model.settings.conf import Conf
from .checkpoint import Checkpoint
from .files import read_whole
from .files import replace as replace_file
from .state import Location

STOPPING = ("differs", "refused")
CHANGED = "STATEPLAN_QUERY_CHANGED"


@dataclass(frozen=True)
class CheckpointFolder:
    """A checkpoint's directory on any file system, as planner/evolution/reading.py wants it.

    Attributes:
        root: the directory.
        verified: whether files are compared with their checksums.
    """

    root: Location
    verified: bool = True

    def read(self, path: str) -> bytes | None:
        place = self._at(path)
        try:
            return read_whole(place) if self.verified else place.read()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def names(self, path: str) -> list[str]:
        return self._at(path).names()

    def _at(self, path: str) -> Location:
        place = self.root
        for part in path.split("/"):
            place = place / part
        return place


def check_restart(
    checkpoint: Checkpoint,
    planned: IncrementalExecution,
    asked: Conf,
    *,
    committed: bool,
    allowed: Collection[str] = (),
) -> None:
    """Compare a query with the one that a checkpoint holds, then keep it there.

    A checkpoint of an earlier stateplan holds none: nothing is compared.

    Args:
        checkpoint: the checkpoint.
        planned: the query under the checkpoint's settings.
        asked: its own settings.
        committed: whether a batch is done: before that there is no state.
        allowed: verdicts that may go on: `differs`, `refused`.

    Raises:
        RuntimeFailure: the change is not safe, and not allowed.
    """
    now = replace(side_of(planned, {}), asked=asked)
    document = document_of(now)
    if committed:
        stored = read_folder(CheckpointFolder(checkpoint.root), str(checkpoint.root))
        was = None if stored.document is None else side_from(stored.document, stored.conf)
        if was is not None:
            report = compare(stored, now, was, basis="stored plan")
            if report.verdict in STOPPING and report.verdict not in allowed:
                raise RuntimeFailure(
                    report.condition or CHANGED,
                    f"The query has changed, and does not go on from '{checkpoint.root}'. "
                    + report_text(report),
                    hint="Keep the old query or start with a new checkpoint; to go on all the "
                    f"same, allow '{report.verdict}'.",
                )
            if report.verdict == "refused":
                return
            if stored.document == document:
                return
    _keep(checkpoint, document)


def keep_query(checkpoint: Checkpoint, planned: IncrementalExecution, asked: Conf) -> None:
    """Keep a query in a checkpoint, for the next restart; see `check_restart`."""
    _keep(checkpoint, document_of(replace(side_of(planned, {}), asked=asked)))


def _keep(checkpoint: Checkpoint, document: dict[str, Any] | None) -> None:
    if document is not None:
        checkpoint.check_claim()
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        replace_file(checkpoint.guarded / DOCUMENT, text.encode())
