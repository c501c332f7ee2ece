"""A batch's files become part of an output directory: all at once in its log, and once.

The entry for the log is first written beside it, as a plan (`_stateplan/moving-N-*`); then the
files are moved to their places; then the plan is linked into the log under the batch's number.
Whoever cleans up after a driver takes its plans away before anything else: a driver that is still
about to publish, without knowing that another one has taken over, then cannot make the entry.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..checkpoint import concurrent_update
from ..compactible_log import CompactibleLog, read_entries
from ..files import failing, remove, write_new
from ..listing import hidden
from ..output_log import entry_of
from ..state.locations import located

STAGING, DROPPED = "staging-", "dropped-"
MOVING, GONE = "moving-", "gone-"


def publish(directory: Path, log: CompactibleLog, staging: Path, work: Path, batch_id: int) -> None:
    """Move a batch's files from where they were written and enter them into the log.

    Args:
        directory: the output directory.
        log: its log.
        staging: where the files lie, under the names that they are to have.
        work: where the plan is kept; on the same file system, hidden from readers.
        batch_id: the batch.

    Raises:
        RuntimeFailure: another driver has published the batch or taken over, or the file system
            fails; the files are not part of the output.
    """
    with failing(directory):
        try:
            names = [path.relative_to(staging) for path in _data_files(staging)]
            for name in names:
                _sync(staging / name)
            entries = [entry_of(staging / name, directory / name) for name in names]
            staging.stat()  # so it was not taken away while its files were listed
        except FileNotFoundError:
            raise concurrent_update(batch_id, log.directory) from None
        prepared = log.prepared(batch_id, entries)
        plan = work / f"{MOVING}{batch_id}-{uuid.uuid4()}"
        write_new(plan, prepared.data)
        moved: list[Path] = []
        try:
            for name in names:
                moved.append(directory / name)
                moved[-1].parent.mkdir(parents=True, exist_ok=True)
                os.rename(staging / name, moved[-1])
            for folder in {path.parent for path in moved}:
                _sync(folder)
            log.add_prepared(prepared, plan)
        except BaseException as problem:
            # Also where others have cleaned up: what was moved after that they did not see.
            _take_back({str(path) for path in moved}, log)
            remove(plan)
            if isinstance(problem, FileNotFoundError):
                raise concurrent_update(batch_id, log.directory) from None
            raise
        remove(plan)


def clean_up(directory: Path, log: CompactibleLog, work: Path) -> None:
    """Remove what drivers before had written or moved to its place, but not entered into the log.

    Raises:
        RuntimeFailure: a plan or the log is corrupt, or the file system fails.
    """
    with failing(directory):
        for staging in sorted(work.glob(f"{STAGING}*")):
            # At once: its driver must not find a part of it.
            with contextlib.suppress(FileNotFoundError):
                os.rename(staging, staging.with_name(DROPPED + staging.name))
        for dropped in work.glob(f"{DROPPED}*"):
            shutil.rmtree(dropped, ignore_errors=True)
        for gone in sorted(work.glob(f"{GONE}*")):
            _undo(gone, log)
            remove(gone)
        for plan in sorted(work.glob(f"{MOVING}*")):
            # Kept until the next time: its driver may be moving files at this moment.
            gone = plan.with_name(GONE + plan.name)
            with contextlib.suppress(FileNotFoundError):
                os.rename(plan, gone)
                _undo(gone, log)
            remove(plan)  # what is left is its checksum file


def _undo(plan: Path, log: CompactibleLog) -> None:
    _take_back(_paths(read_entries(located(plan))), log)


def _take_back(moved: set[str], log: CompactibleLog) -> None:
    """Delete files, but for those that the log names."""
    latest = log.latest()
    for path in moved - _paths(log.entries_up_to(-1 if latest is None else latest)):
        Path(path).unlink(missing_ok=True)


def _paths(entries: Iterable[object]) -> set[str]:
    paths = (entry["path"] for entry in entries if isinstance(entry, dict))
    return {unquote(urlsplit(path).path) for path in paths if isinstance(path, str)}


def _sync(path: Path) -> None:
    """Make a file's content, or a folder's names, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _data_files(root: Path) -> list[Path]:
    """The files that Spark wrote, without its markers and checksum files."""
    return sorted(p for p in root.rglob("*") if p.is_file() and not hidden(p.name))
