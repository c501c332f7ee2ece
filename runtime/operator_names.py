"""Starts of queries whose stateful operators have names: which state each of them goes on with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ..physical.plan import SparkPlan, StateStoreWriter
from ..planner.evolution.names import CONDITION, NAMES_FILE, StoredName, names_document, names_from
from ..planner.model.errors import RuntimeFailure
from .checkpoint import Checkpoint
from .files import corrupt, read_whole, remove
from .files import replace as replace_file
from .offsets import Position
from .state import StateVersion, save_version
from .state_files import write_state_files

_BORN = "born"  # the attempt of an empty state, where the last commit names none


@dataclass(frozen=True)
class OperatorNames:
    """The names of a query's stateful operators beside those of its checkpoint.

    Attributes:
        asked: the query's, the one nearest the sink first.
        stored: the checkpoint's that a committed batch has, with their ids.
        left: ids of operators that were added by a start without a committed batch, and are gone.
        batch_id: the batch that comes next.
    """

    asked: tuple[str, ...]
    stored: Mapping[str, StoredName] | None
    left: frozenset[int]
    batch_id: int

    @classmethod
    def of(cls, checkpoint: Checkpoint, asked: tuple[str, ...], batch_id: int) -> OperatorNames:
        """Read a checkpoint's names.

        Raises:
            RuntimeFailure: the file is unusable, the query has no names though the checkpoint has,
                or leaves one out.
        """
        path = checkpoint.root / NAMES_FILE
        if not path.exists():
            return cls(asked, None, frozenset(), batch_id)
        try:
            found = names_from(json.loads(read_whole(path)))
        except ValueError:
            found = None
        if found is None:
            raise corrupt(path, "it holds no names of operators")
        stored = {name: one for name, one in found.items() if one.since < batch_id}
        left = frozenset(one.id for name, one in found.items() if name not in stored)
        missing = ", ".join(name for name in stored if name not in asked)
        if missing:
            raise RuntimeFailure(
                CONDITION,
                f"The checkpoint '{checkpoint.root}' knows its stateful operators by name, and the"
                f" query has none with the name {missing}.",
                hint="Give each stateful operator its name again, or start with a new checkpoint.",
            )
        return cls(asked, stored, left, batch_id)

    @property
    def stored_ids(self) -> dict[str, int]:
        """The ids of operators with state, by name."""
        return {name: one.id for name, one in (self.stored or {}).items()}

    def settle(self, checkpoint: Checkpoint, plan: SparkPlan, position: Position) -> None:
        """Write the names down, and an empty state for operators that are new since a batch.

        Every step may be repeated: a start that ends in between is made good by the next one, of
        this query or of the one before.
        """
        if self.stored is None and not self.asked:
            return
        checkpoint.check_claim()
        for number in self.left:
            (checkpoint.guarded / "state" / str(number)).delete_folder()
        path = checkpoint.guarded / NAMES_FILE
        if not self.asked:
            remove(path)
            return
        writers = dict(zip(self.asked, plan.collect(StateStoreWriter), strict=True))
        first = 0 if self.stored is None else self.batch_id
        names = dict(self.stored or {})
        added = {name: writer for name, writer in writers.items() if name not in names}
        for name, writer in added.items():
            assert writer.state_info is not None
            names[name] = StoredName(writer.state_info.operator_id, first)
        replace_file(path, json.dumps(names_document(names)).encode())
        if self.stored is None or self.batch_id == 0:
            return  # Operators that were there before they had names keep what they have.
        for writer in added.values():
            info = writer.state_info
            assert info is not None
            runs = checkpoint.guarded / "state" / str(info.operator_id) / "runs"
            empty = StateVersion(self.batch_id, info.num_partitions)
            save_version(runs, empty, position.state_attempt or _BORN, retain=1)
        write_state_files(checkpoint.guarded / "state", plan)
