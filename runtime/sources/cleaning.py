"""What becomes of a stream's files once their batch is committed: the option `cleanSource`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from ...planner.model.errors import DescriptionError
from ..files import local_path
from ..listing import name_pattern
from ..options import Options

Clean = Callable[[str], None]
"""Deletes or moves a file. One that cannot be is left, with a warning: no batch fails for it."""


def cleaner(options: Options, location: str) -> Clean | None:
    """What the options say is to be done; None: nothing.

    Args:
        options: `cleanSource` (off, delete, archive) and `sourceArchiveDir`.
        location: the stream's absolute path, or a pattern.

    Raises:
        DescriptionError: the archive is missing, or the stream would read it.
    """
    match options.choice("cleanSource", "off", ("archive", "delete", "off")):
        case "delete":
            return _tolerant("removed", os.remove)
        case "archive":
            return _archiver(options, location)
    return None


def _archiver(options: Options, location: str) -> Clean:
    if "sourceArchiveDir" not in options:
        raise DescriptionError(
            "STATEPLAN_BAD_OPTION",
            "Archive mode must be used with 'sourceArchiveDir' option.",
            hint="Name a directory outside of the source on the same file system.",
        )
    archive = local_path(options["sourceArchiveDir"], "the archive")
    if _may_match(PurePosixPath(location), PurePosixPath(archive)):
        raise options.refusal(
            "sourceArchiveDir",
            "Base archive path cannot be set to the path where archived path can possibly match "
            "with source pattern",
            "Name a directory that does not lie in the source, nor the source in it.",
        )

    def move(path: str) -> None:
        place = Path(f"{archive}{path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(path, place)

    return _tolerant("moved to the archive", move)


def _may_match(source: PurePosixPath, archive: PurePosixPath) -> bool:
    """Whether the two agree as far as the shorter one goes."""
    pairs = zip(source.parts, archive.parts, strict=False)
    return all(name_pattern(wanted).fullmatch(there) for wanted, there in pairs)


def _tolerant(done: str, act: Callable[[str], None]) -> Clean:
    def clean(path: str) -> None:
        try:
            act(path)
        except FileNotFoundError:
            pass  # a run before this one has done it
        except OSError as problem:
            warnings.warn(f"'{path}' could not be {done}: {problem}", stacklevel=2)

    return clean
