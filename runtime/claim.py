"""One driver a checkpoint: who runs on it, and what keeps an older run from writing.

Each run claims the checkpoint by a file `claims/<epoch>-<run id>` of the highest epoch, and looks
before each entry of a log whether a newer one is there: then it ends, whatever it was doing.

- On a local disk a lock besides refuses a second driver while the first one lives, and a log entry
  is a file that only one of two writers can make.
- Elsewhere two writers of one file both succeed. There each entry is first written to the run's own
  `claims/<epoch>-<run id>.entry`, then the claims are listed, and only if none is newer the entry
  is put into its place. A new run, before anything else, takes over what the newest entry file
  holds under its own epoch. (Disk Paxos with one disk: Gafni and Lamport, 2003. The claim is phase
  one, the entry phase two.) So an entry of an older run is either seen and completed by the newer
  one or never made, however long the older one slept; only equal bytes can be written twice. A run
  that ends with its last entry in place deletes the entry file: who then takes entries out of the
  logs, to go back to an earlier batch, does not find the last one completed again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from ..planner.model.errors import RuntimeFailure, StateplanError
from .state.storage import Held, Location

CLAIMS = "claims"
SUPERSEDED = "CONCURRENT_STREAM_LOG_UPDATE"
_CLAIM = re.compile(r"(\d{10})-[^.]+")
_ENTRY = ".entry"


@dataclass(frozen=True, kw_only=True)
class Holder:
    """Who claims a checkpoint."""

    run_id: str
    name: str | None = None
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    since: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def described(text: str) -> str:
    """Who a claim names, in words."""
    try:
        holder = Holder(**json.loads(text))
    except (ValueError, TypeError):
        return "by an unknown process"
    name = f"query '{holder.name}', " if holder.name else ""
    return (
        f"by {name}run {holder.run_id}, process {holder.pid} on {holder.host}, since {holder.since}"
    )


@dataclass
class Claim:
    """The right to write to a checkpoint, until a newer run claims it.

    Attributes:
        root: the checkpoint.
        name: this claim's file.
    """

    root: Location
    name: str
    _lock: int | None = None
    _in_place: bool = False

    @classmethod
    def take(cls, root: Location, holder: Holder) -> Claim:
        """Claim a checkpoint.

        Raises:
            RuntimeFailure: another run has it.
            OSError: the file system fails.
        """
        folder = root / CLAIMS
        text = holder.to_json()
        try:
            lock = root.storage.lock((folder / "lock").path, text)
        except Held as held:
            raise concurrent_query(root, str(held)) from None
        try:
            epochs = [int(name[:10]) for name in _claims(folder)]
            claim = cls(root, f"{max(epochs, default=0) + 1:010d}-{holder.run_id}", lock)
            (folder / claim.name).put(text.encode())
            newer = claim._newer()
            if newer is not None:
                (folder / claim.name).delete()
                raise concurrent_query(root, _content(folder / newer))
            claim._take_over()
        except BaseException:
            if lock is not None:
                root.storage.unlock(lock)
            raise
        return claim

    def check(self) -> None:
        """Raise if a newer run has claimed the checkpoint."""
        newer = self._newer()
        if newer is not None:
            raise superseded(self.root, _content(self._folder / newer))

    def superseded(self, error: BaseException) -> StateplanError | None:
        """What to raise instead if a newer run has claimed the checkpoint; else None."""
        if isinstance(error, StateplanError) and error.condition == SUPERSEDED:
            return None
        try:
            self.check()
        except (OSError, StateplanError) as newer:
            return newer if isinstance(newer, StateplanError) else None
        return None

    @contextlib.contextmanager
    def naming_the_newer_run(self) -> Iterator[None]:
        """A failure is that of a superseded run, if it is one: files go from under it.

        Raises:
            RuntimeFailure: a newer run has claimed the checkpoint.
        """
        try:
            yield
        except Exception as error:
            newer = self.superseded(error)
            if newer is None:
                raise
            raise newer from error

    def create(self, location: Location, data: bytes) -> None:
        """Make a file of the checkpoint that is not there yet.

        Raises:
            FileExistsError: it is there.
            RuntimeFailure: a newer run has claimed the checkpoint.
        """
        storage = self.root.storage
        if storage.local:
            self.check()
            storage.create(location.path, data)
            return
        if storage.kind(location.path):
            raise FileExistsError(str(location))
        self._accept(location.path.removeprefix(f"{self.root.path}/"), data)
        storage.put(location.path, data)
        self._in_place = True

    def release(self) -> None:
        """Let the lock go. The claim stays: a later one must have a higher epoch."""
        if self._in_place:
            with contextlib.suppress(OSError):
                self._entry.delete()
        lock, self._lock = self._lock, None
        if lock is not None:
            self.root.storage.unlock(lock)

    @property
    def _folder(self) -> Location:
        return self.root / CLAIMS

    @property
    def _entry(self) -> Location:
        return self._folder / f"{self.name}{_ENTRY}"

    def _newer(self) -> str | None:
        return next((name for name in reversed(_claims(self._folder)) if name > self.name), None)

    def _take_over(self) -> None:
        """Complete what the run before was about to write, then forget older runs."""
        names = self._folder.names()
        entries = [n for n in names if n.endswith(_ENTRY) and n < self.name]
        if not self.root.storage.local:
            try:
                entry = (self._folder / entries[-1]).read() if entries else b"\n"
            except FileNotFoundError:  # by a newer run, or by its own as all was in place
                self.check()
                entry = b"\n"
            self._complete(entry)
        for name in [*_claims(self._folder), *entries]:
            if name < self.name:
                with contextlib.suppress(OSError):
                    (self._folder / name).delete()

    def _complete(self, entry: bytes) -> None:
        path, _, data = entry.partition(b"\n")
        self._accept(path.decode(), data)
        if path:
            target = self.root / path.decode()
            if not target.exists():
                target.put(data)
        self._in_place = True

    def _accept(self, path: str, data: bytes) -> None:
        """Write an entry as this run's; once no newer claim is seen after that, it stands."""
        self._in_place = False
        self._entry.put(path.encode() + b"\n" + data)
        self.check()


def _claims(folder: Location) -> list[str]:
    return [name for name in folder.names() if _CLAIM.fullmatch(name)]


def _content(path: Location) -> str:
    try:
        return path.read().decode(errors="replace")
    except OSError:
        return ""


def concurrent_query(root: Location, holder: str) -> RuntimeFailure:
    """The error for a checkpoint that another driver has."""
    return RuntimeFailure.of(
        "CONCURRENT_QUERY",
        hint=f"The checkpoint '{root}' is held {described(holder)}. Stop the other query, or give "
        "this one a checkpoint directory of its own.",
    )


def superseded(root: Location, holder: str) -> RuntimeFailure:
    """The error for a driver whose checkpoint a newer run has claimed."""
    return RuntimeFailure.of(
        SUPERSEDED,
        batchId=f"the checkpoint '{root}'",
        hint=f"It was claimed after this query, and is held {described(holder)}. Nothing is lost: "
        "the other query goes on from the last commit.",
    )
