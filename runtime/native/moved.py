"""Checkpoints that lie elsewhere than where Spark wrote them.

Spark's metadata of `transformWithState` names the files with the variables' schemas by their whole
paths: in a copy of a checkpoint Spark does not find them. What it reads instead is a folder of
links to the checkpoint's files, with metadata that names the schemas where they are now.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...planner.model.errors import RuntimeFailure
from ..checkpoint import compact_json
from ..state import Location
from ..state.storage_local import LocalStorage

_PATHS, _EARLY_PATH = "stateSchemaFilePaths", "stateSchemaFilePath"
"""Where a store's metadata names its schemas; the latter in pre-releases of Spark 4.0."""


def place_for_spark(root: Location, holder: object) -> str:
    """The directory from which Spark's sources read a checkpoint's state.

    It is the checkpoint itself, or a folder of links that goes when its `holder` does.

    Raises:
        RuntimeFailure: the state is in a format that Spark does not read.
    """
    if not isinstance(root.storage, LocalStorage):
        return str(root)
    place = Path(root.path)
    changed = dict(_changed(place))
    if not changed:
        return str(root)
    folder = tempfile.mkdtemp(prefix="stateplan-")
    weakref.finalize(holder, shutil.rmtree, folder, ignore_errors=True)
    _link(place, Path(folder), changed)
    return folder


def _changed(place: Path) -> Iterator[tuple[Path, str]]:
    """Metadata whose schemas are not where it says, with what it should say."""
    for path in place.glob("state/*/_metadata/v2/[0-9]*"):
        version, _, text = path.read_text(encoding="utf-8").partition("\n")
        try:
            metadata = json.loads(text)
            stores = metadata["stateStoreInfo"]
            if any(_EARLY_PATH in store for store in stores):
                raise _of_a_pre_release(place)
            found = [_with_own_schemas(store, path.parents[2]) for store in stores]
        except (ValueError, KeyError, TypeError):
            continue  # no such metadata: what reads it says what is wrong
        if found != stores:
            yield path, f"{version}\n{compact_json({**metadata, 'stateStoreInfo': found})}"


def _with_own_schemas(store: Mapping[str, Any], operator: Path) -> dict[str, Any]:
    own = operator / "_stateSchema" / store["storeName"]
    places = [own / name.rpartition("/")[2] for name in store[_PATHS]]
    is_there = all(Path(name.removeprefix("file:")).exists() for name in store[_PATHS])
    if is_there or not all(map(Path.exists, places)):
        return dict(store)
    return {**store, _PATHS: [f"file:{path}" for path in places]}


def _of_a_pre_release(place: Path) -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_STATE_NOT_READ",
        f"The state of the checkpoint '{place}' is in the format of a pre-release of Spark 4.0, "
        "which Spark 4.3 does not read.",
        hint="Start the query with a new checkpoint.",
    )


def _link(place: Path, to: Path, changed: Mapping[Path, str]) -> None:
    """Fill a folder with links to what another one holds, and with the files that are changed."""
    for path in place.iterdir():
        if path in changed:
            (to / path.name).write_text(changed[path], encoding="utf-8")
        elif any(path in file.parents for file in changed):
            (to / path.name).mkdir()
            _link(path, to / path.name, changed)
        elif path.name[1:].removesuffix(".crc") not in {file.name for file in changed}:
            (to / path.name).symlink_to(path)
