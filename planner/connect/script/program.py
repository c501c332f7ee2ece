"""The file that is explained: where it lies, and which other files are the user's own."""

from __future__ import annotations

import dis
import os
import re
import site
import sys
import sysconfig
from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from types import FrameType

from ...model.frozen import dataclass

_ROOT_MARKS = ("pyproject.toml", "setup.py", ".git")
_LIBRARIES = tuple(
    os.path.join(os.path.realpath(path), "")
    for path in (
        *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
    )
)
_RELATIVE = re.compile(rb"^\s*from \.", re.MULTILINE)
_OWN = os.path.join(str(Path(__file__).resolve().parent), "")


@dataclass(frozen=True, kw_only=True)
class Program:
    """What is run, and how.

    Attributes:
        path: the file.
        arguments: those of the script.
        python_path: further folders whose modules are real.
        strict_imports: a missing module is an error, no stand-in.
        call: a function to call when the file has run, such as `main` or `build('a', 2)`.
        into_batches: call the functions given to foreachBatch, too.
        is_spec: the file describes a Declarative Pipeline.
        definitions: files that define one without such a description.
        databricks: they use what only Databricks' pipelines have.
        timeout: seconds after which the file is taken to hang.
    """

    path: str
    arguments: Sequence[str] = ()
    python_path: Sequence[str] = ()
    strict_imports: bool = False
    call: str | None = None
    into_batches: bool = False
    is_spec: bool = False
    definitions: Sequence[str] = ()
    databricks: bool = False
    timeout: float = 60

    @property
    def is_pipeline(self) -> bool:
        """Whether it defines a pipeline's data sets, and is no program of its own."""
        return self.is_spec or bool(self.definitions)

    @cached_property
    def folder(self) -> Path:
        """The folder that the file lies in, or that was given itself."""
        path = Path(self.path).resolve()
        return path if path.is_dir() else path.parent

    @cached_property
    def root(self) -> Path:
        """The project's: the nearest folder with a project's file; else the file's own folder."""
        for folder in (self.folder, *self.folder.parents):
            if any((folder / mark).exists() for mark in _ROOT_MARKS):
                return folder
        return self.folder

    @cached_property
    def _started_in(self) -> Path:
        """The folder that the command runs in, where that is above the file."""
        here = Path.cwd()
        return here if self.folder.is_relative_to(here) else self.root

    @cached_property
    def package(self) -> str:
        """The package that the file is part of, or nothing; a pipeline's files have each theirs."""
        return "" if self.is_pipeline else self.package_of(Path(self.path).resolve())

    def package_of(self, file: Path) -> str:
        """The package that a file is part of, or nothing.

        A file that imports relatively is part of one, even where no folder says so.
        """
        parts: list[str] = []
        folder = file.parent
        while (folder / "__init__.py").is_file() and folder != folder.parent:
            parts.insert(0, folder.name)
            folder = folder.parent
        if not parts and _RELATIVE.search(file.read_bytes()):
            inner = file.parent.is_relative_to(self.root)
            parts = [*file.parent.relative_to(self.root).parts] if inner else []
            parts = parts or [file.parent.name]
        return ".".join(parts)

    @cached_property
    def search_path(self) -> list[str]:
        """Where the user's modules are: beside the file, as given, and in the project.

        Which of a project's folders is on the path where it really runs nobody knows, so all are
        between the file and the project's root, or the folder that the command runs in, and `src`,
        the nearest first.
        """
        folders = [
            folder
            for folder in (self.folder, *self.folder.parents)
            if folder.is_relative_to(self.root) or folder.is_relative_to(self._started_in)
        ]
        # A package's own modules, such as `pyspark.pandas`, would hide others from a file in it.
        between = [f for f in folders if f == self.folder or "site-packages" not in f.parts]
        depth = self.package.count(".") + 1 if self.package else 0
        above = [self.folder, *self.folder.parents][depth]  # where the package itself is found
        given = map(Path, self.python_path)
        found = [self.folder, *given, above, *between, self.root / "src"]
        return list(dict.fromkeys(str(folder.absolute()) for folder in found))

    @cached_property
    def _own_folders(self) -> tuple[str, ...]:
        found = (*map(str, (self.root, self.folder, self._started_in)), *self.python_path)
        return tuple(os.path.join(os.path.realpath(folder), "") for folder in found)

    def owns(self, file: str) -> bool:
        """Whether a file of code, by its name in a frame, is the user's own and no library's."""
        if file.startswith("<"):
            return False
        file = os.path.realpath(file)
        if file.startswith((_OWN, *_LIBRARIES)) or "site-packages" in file.split(os.sep):
            return False
        return file.startswith(self._own_folders)

    def own_frame(self, frame: FrameType | None, *, nearest: bool = True) -> FrameType | None:
        """The innermost of the user's own frames; with `nearest`, only if no library is between.

        Frames of the import system and of this package do not count.
        """
        while frame is not None:
            file = frame.f_code.co_filename
            if self.owns(file):
                return frame
            internal = file.startswith(("<frozen", _OWN)) or "importlib" in file
            if nearest and not internal:
                return None
            frame = frame.f_back
        return None

    def namesake(self, path: str) -> str:
        """The file of the project that lies where the code looks in vain, by the path's last parts.

        A container mounts a project's folders elsewhere. It is nothing if several are as near.
        """
        if not any((self.root / mark).exists() for mark in _ROOT_MARKS):
            return ""
        wanted = Path(path).parts[::-1]
        near: dict[str, int] = {}
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if not f.startswith(".") and f != "site-packages"]
            if wanted and wanted[0] in files:
                found = os.path.relpath(os.path.join(folder, wanted[0]), self.root)
                pairs = zip(wanted, Path(found).parts[::-1], strict=False)
                near[found] = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        best = [found for found, parts in near.items() if parts == max(near.values())]
        return best[0] if len(best) == 1 else ""

    def catches(self, frame: FrameType | None) -> bool:
        """Whether a `try` of the user's is around what runs in a frame; a `with` is none."""
        while frame is not None:
            if self.owns(frame.f_code.co_filename):
                code = dis.Bytecode(frame.f_code)
                starts = {instruction.offset: instruction for instruction in code}
                # Typeshed does not know of it.
                for entry in getattr(code, "exception_entries", ()):
                    handler = [starts.get(entry.target), starts.get(entry.target + 2)]
                    within = entry.start <= frame.f_lasti < entry.end
                    checked = any(
                        one is not None and one.opname == "WITH_EXCEPT_START" for one in handler
                    )
                    if within and not checked and not entry.lasti:
                        return True
            frame = frame.f_back
        return False

    def place(self, *, nearest: bool = False, of: FrameType | None = None) -> str:
        """`job.py:12`: the user's line that runs now, or in a frame; empty where there is none."""
        frame = self.own_frame(of or sys._getframe(1), nearest=nearest)
        if frame is None:
            return ""
        return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
