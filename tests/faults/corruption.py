"""Files of a checkpoint and of an output's log, damaged one at a time.

Whatever happens to a file, the next run either says which one it is and what to do, and changes
nothing, or it gives what a run over whole files gives (where the file is not needed any more, or
can be made anew).
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stateplan.planner.model.errors import StateplanError
from stateplan.runtime import compactible_log

from .cases import Case, make_case
from .contents import Contents, contents, differences
from .driver import Run, perform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DONE = 3
"""So many batches ran when a file is damaged; the rest follows."""


def truncate(path: Path, rng: random.Random) -> None:
    """The second half is gone."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path, rng: random.Random) -> None:
    """Nothing is left in it."""
    path.write_bytes(b"")


def flip(path: Path, rng: random.Random) -> None:
    """One bit is another."""
    data = bytearray(path.read_bytes())
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def remove(path: Path, rng: random.Random) -> None:
    """It is gone."""
    path.unlink()


def garble(path: Path, rng: random.Random) -> None:
    """Nonsense, and no checksum beside it that would tell."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_bytes(b"v1\n{nonsense" * 9)


Damage = Callable[[Path, random.Random], None]
DAMAGES: tuple[Damage, ...] = (truncate, empty, flip, remove, garble)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a damaged file.

    Attributes:
        file: its path below the life's folder.
        damage: what was done to it.
        error: what the run, or reading its output, said; None: all was as if nothing had happened.
        wrong: what is not as it has to be.
    """

    file: str
    damage: str
    error: str | None
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Patient:
    """A query that is half done, with a copy of all it has written.

    Attributes:
        spark: runs it.
        case: the query: windows in append mode, from files into files.
        folder: where it lives.
        expected: what it leaves in the end.
        before: what it had left when the copy was made.
    """

    spark: SparkSession
    case: Case
    folder: Path
    expected: Contents
    before: Contents

    @classmethod
    def make(cls, spark: SparkSession, folder: Path, seed: int = 1) -> Patient:
        """Run the query to its end, and another time half-way."""
        case = replace(
            make_case(seed, "windowed", sink="files", mode="append"),
            stores=4,
            tasks=(2,),
            no_data=False,
            kept=100,
            compact=2,
        )
        whole, half = folder / "whole", folder / "half"
        for place in (whole, half):
            place.mkdir()
            _run(spark, case, place, DONE)
        _run(spark, case, whole, len(case.portions))
        patient = cls(spark, case, half, contents(case, whole), contents(case, half))
        for name in ("checkpoint", "out"):
            shutil.copytree(half / name, half / "copy" / name)
        return patient

    def files(self, pattern: str = "*", *, checksums: bool = False) -> list[Path]:
        """The files of checkpoint and output log, rows themselves left out."""
        found = [*(self.folder / "checkpoint").rglob(pattern)]
        found += (self.folder / "out").glob(f"_*/{pattern}")
        kept = (p for p in found if p.is_file() and (checksums or p.suffix != ".crc"))
        return sorted(p.relative_to(self.folder) for p in kept)

    def restore(self) -> None:
        """Everything as it was half-way.

        A task of a batch that failed may outlive it for a moment, and still write its file of
        state, which nothing names: so nothing may depend on an empty place.
        """
        for name in ("checkpoint", "out"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            shutil.copytree(self.folder / "copy" / name, self.folder / name, dirs_exist_ok=True)

    def suffer(
        self, file: Path, damage: Damage, rng: random.Random, *, mend: bool = False
    ) -> Outcome:
        """Damage a file, let the query go on, and put everything back.

        Args:
            file: as `files` names it.
            damage: what to do to it.
            rng: says where.
            mend: after an error, put only the file back: the query must go on from there.
        """
        path = self.folder / file
        damage(path, rng)
        error = None
        wrong: list[str] = []
        try:
            try:
                _run(self.spark, self.case, self.folder, len(self.case.portions))
                found = contents(self.case, self.folder)
                wrong += differences(self.case, self.expected, found)
            except StateplanError as problem:
                error = f"[{problem.condition}] {problem.message} hint: {problem.hint}"
                wrong += self._poor(problem, path)
                wrong += self._mended(file) if mend else ()
            except Exception as problem:
                wrong.append(f"{type(problem).__name__}: {problem}")
        finally:
            self.restore()
        return Outcome(file=_plain(file), damage=damage.__name__, error=error, wrong=tuple(wrong))

    def _poor(self, problem: StateplanError, path: Path) -> Iterator[str]:
        """What an error lacks."""
        named = {str(path), str(path.with_name(path.name.removesuffix(".compact")))}
        if path.suffix == ".crc":
            named.add(str(path.with_name(path.name[1:].removesuffix(".crc"))))
        if not any(name in problem.message for name in named):
            yield f"'{problem.message}' does not name {path}"
        if not problem.hint:
            yield "no hint"

    def _mended(self, file: Path) -> Iterator[str]:
        """With the file put back the query goes on as if nothing had happened."""
        for name in (file, file.with_name(f".{file.name}.crc")):
            if (self.folder / "copy" / name).exists():
                shutil.copy2(self.folder / "copy" / name, self.folder / name)
        try:
            _run(self.spark, self.case, self.folder, len(self.case.portions))
            yield from differences(self.case, self.expected, contents(self.case, self.folder))
        except Exception as problem:
            yield f"with the file put back: {type(problem).__name__}: {problem}"


def compact(interval: int) -> None:
    """Let logs of files in this process be compacted every so many batches."""
    compactible_log.CompactibleLog.__init__.__defaults__ = (interval,)


def damage_all(spark: SparkSession, folder: Path, seed: int) -> Iterator[Outcome]:
    """Every file, damaged in every way; each outcome as it comes."""
    patient = Patient.make(spark, folder, seed)
    for file in patient.files(checksums=True):
        for damage in DAMAGES[:-1] if file.suffix == ".crc" else DAMAGES:
            rng = random.Random(f"{seed} {_plain(file)} {damage.__name__}")
            yield patient.suffer(file, damage, rng, mend=rng.random() < 0.25)


def table(outcomes: Iterable[Outcome]) -> list[str]:
    """What came of which damage to which file, as Markdown."""
    kept = list(outcomes)
    names = [damage.__name__ for damage in DAMAGES]
    lines = [f"| file | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for file in dict.fromkeys(outcome.file for outcome in kept):
        came = {o.damage: o for o in kept if o.file == file}
        cells = [_cell(came[name]) if name in came else "" for name in names]
        lines.append(f"| {file} | {' | '.join(cells)} |")
    return lines


def _cell(outcome: Outcome) -> str:
    if outcome.wrong:
        return "WRONG: " + "; ".join(outcome.wrong)
    return "harmless" if outcome.error is None else "named"


def _run(spark: SparkSession, case: Case, folder: Path, portions: int) -> None:
    case.write_input(folder / "in", portions)
    perform(spark, Run(case=case, folder=folder, portions=(portions,)), 0)


def _plain(file: Path) -> str:
    """A path without its unique part."""
    return re.sub(r"[0-9a-f-]{36}(-[0-9a-f]+)?", "*", str(file))
