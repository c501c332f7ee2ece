"""Files of the user's that are not here: their content is a stand-in, as a missing module's names.

A schema, a configuration or a pickled model lies beside a job where it really runs. Code that is
ready for a file that is missing, by a `try` around the call, gets the error that it waits for.
What is written into a folder that is not here, such as a log, is left out.
"""

from __future__ import annotations

import builtins
import functools
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from .later import change_when_imported
from .network import Answer
from .program import Program
from .stand_ins import OtherwiseStandIn, StandIn


class MissingFile(OtherwiseStandIn):
    """An open file of which nothing is known but that reading it gives a stand-in."""

    closed = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = f"open({name})"

    def read(self, *size: int) -> StandIn:
        """The whole content, whatever part is asked for."""
        return StandIn(self._path)

    readline = read

    def __iter__(self) -> Any:
        return iter(())


def open_missing_files(
    program: Program, note: Callable[[str], None], missed: Callable[[str], None]
) -> None:
    """Let the user's own lines read files that are not here. In the process that explains alone.

    Args:
        program: whose lines.
        note: prints a note for the user.
        missed: is called with the path of a file that is not here, where the code gets the error.
    """
    python: Any = builtins
    opened = python.open

    def open_(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        try:
            return opened(file, mode, *arguments, **named)
        except FileNotFoundError:
            if "r" not in mode and _has_no_folder(file):
                logs = Path(_file_of(_caller())).parent.name == "logging"
                writer = program.own_frame(_caller(), nearest=not logs)
                if writer is not None and not program.catches(writer):
                    place = program.place(of=writer)
                    note(
                        f"{place}: the folder of '{file}' is not here: what is written is left out"
                    )
                    return opened(os.devnull, mode.replace("x", "w"), *arguments, **named)
            frame = program.own_frame(_caller())
            # ConfigParser.read goes on without a file, to a section that is not there.
            users = frame is not None or _file_of(_caller()).endswith("configparser.py")
            if users and "r" in mode and (found := program.namesake(str(file))):
                note(f"'{file}' is not here: the project's {found} is read in its place")
                return opened(program.root / found, mode, *arguments, **named)
            known = not isinstance(file, StandIn)  # else no file of any name is missing
            if frame is None or "r" not in mode or (known and program.catches(frame)):
                if users:
                    missed(str(file))
                raise
            note(f"{program.place(of=frame)}: '{file}' is not here: its content is a stand-in")
            return MissingFile(str(file))

    open_.__module__, open_.__qualname__ = "builtins", "open"  # as which it is pickled
    python.open = open_


def _has_no_folder(file: Any) -> bool:
    return isinstance(file, str | os.PathLike) and not Path(os.fspath(file)).parent.is_dir()


_READERS = ("load", "loads", "safe_load", "full_load", "unsafe_load")
_OF_PANDAS = ("read_csv", "read_json", "read_excel", "read_parquet", "read_pickle")


def read_stand_ins(program: Program) -> None:
    """Let JSON, YAML and pickled objects that are not here be read as stand-ins, too."""

    def tables(module: Any) -> None:
        for name in _OF_PANDAS:
            setattr(module, name, _read_table(getattr(module, name), program))

    changes = dict.fromkeys(("json", "pickle", "yaml", "joblib", "tomllib"), _reading)
    change_when_imported({**changes, "pandas": tables})


def _read_table(read: Callable[..., Any], program: Program) -> Callable[..., Any]:
    """A function of pandas; a file that is not here is a stand-in where the code does not wait."""

    @functools.wraps(read)
    def called(source: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return read(source, *arguments, **named)
        except FileNotFoundError:
            frame = program.own_frame(_caller())
            if frame is None or program.catches(frame):
                raise
            return StandIn(f"pandas.{read.__name__}({source})")

    return called


def _reading(module: Any) -> None:
    for name in _READERS:
        if hasattr(module, name):
            setattr(module, name, _read(getattr(module, name), module.__name__))


def _read(read: Callable[..., Any], module: str) -> Callable[..., Any]:
    @functools.wraps(read)
    def called(source: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(source, StandIn):
            return StandIn(f"{module}({source._stand_in})")
        if isinstance(source, MissingFile):
            return StandIn(f"{module}({source.name})")
        if hasattr(source, "read") and isinstance(text := _whole(source), StandIn):
            return StandIn(f"{module}({text._stand_in})")
        try:
            return read(source, *arguments, **named)
        except (pickle.UnpicklingError, TypeError) as error:
            # An object of a class that is not here.
            if StandIn.__name__ not in str(error):
                raise
            return StandIn(f"{module}({getattr(source, 'name', '')})")

    return called


def _whole(source: Any) -> Any:
    """What an answer that is not there says; None of anything else, which is left unread."""
    return source.read() if type(source).__module__ == Answer.__module__ else None


def _caller() -> FrameType | None:
    return sys._getframe(2)


def _file_of(frame: FrameType | None) -> str:
    return "" if frame is None else frame.f_code.co_filename
