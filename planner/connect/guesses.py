"""Tables and directories that nobody described: what a script's code says about their columns."""

from __future__ import annotations

import re
from pathlib import PurePath

from ..model.catalog import Source, TempView
from ..model.errors import StateplanError
from ..model.schemas.open_schemas import OpenSchemas
from ..model.schemas.types import StructField, StructType

UNKNOWN_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")
_UNKNOWN_NAME = ("UNRESOLVED_COLUMN", "UNRESOLVED_USING_COLUMN", "FIELD_NOT_FOUND")
_NO_TIME = "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE"


def is_unknown_source(error: StateplanError) -> bool:
    """Whether an error says that nobody described a table, a directory or a format."""
    return error.condition in (*UNKNOWN_TABLE, "STATEPLAN_SCHEMA_UNKNOWN")


class Guesses:
    """Columns of what is not described, one for each name that the code uses.

    A guess is a way to a message that can be copied, or, with --write-catalog, to a first plan:
    all columns are texts, but for event times.

    Attributes:
        sources: the tables (by name), directories and formats that were asked for.
        accepted: plan with the guesses instead of refusing what nobody described.
    """

    def __init__(self, schemas: OpenSchemas) -> None:
        self.schemas = schemas
        self.sources: dict[str, None] = {}
        self._tables: dict[str, None] = {}
        self.accepted = False

    def schema(self, source: str) -> StructType | None:
        """The guessed columns of a directory or a format; None if nothing is guessed of it."""
        return self.schemas.schema(source) if source in self.sources else None

    def tables(self) -> dict[str, Source | TempView]:
        """The tables by name."""
        found: dict[str, Source | TempView] = {}
        for name in self._tables:
            if name not in self.schemas.used:
                self.schemas.schema(name)
            known = self.schemas.columns[name]
            columns = StructType(tuple(StructField(n, type_) for n, type_ in known.items()))
            found[name.lower()] = Source(name=name, schema=columns, format="delta", either=True)
        return found

    def mends(self, error: StateplanError) -> bool:
        """Whether an error may be of a kind that `widened` takes in."""
        condition = error.condition or ""
        known = condition.startswith(_UNKNOWN_NAME) or condition == _NO_TIME
        return bool(error.subject) and (is_unknown_source(error) or known)

    def withdraw(self) -> None:
        """Forget all guesses."""
        self.accepted = False
        for name in self.sources:
            self.schemas.columns.pop(name, None)
            self.schemas.used.pop(name, None)
        self.sources.clear()
        self._tables.clear()

    def widened(self, error: StateplanError) -> bool:
        """Take in what an error says is missing; False if it is none that a guess can mend."""
        condition, subject = error.condition or "", error.subject
        if not subject:
            return False
        if is_unknown_source(error):
            return self.accepted and self._add_source(".".join(subject), condition)
        if condition.startswith(_UNKNOWN_NAME):
            return self.schemas.add(subject)
        return condition == _NO_TIME and self.schemas.make_time(subject[0])

    def _add_source(self, name: str, condition: str) -> bool:
        if name in self.sources:
            return False
        self.sources.setdefault(name)
        if condition in UNKNOWN_TABLE:
            self._tables.setdefault(name)
        return True

    def lines(self) -> list[str]:
        """The guesses as lines of a catalog file."""
        return [self._line(name) for name in self.sources]

    def notes(self) -> list[str]:
        """What was not known and went on under its placeholder."""
        found = []
        for name, columns in self.schemas.columns.items():
            if name not in self.sources:
                listed = ", ".join(f"{n} {type_.sql}" for n, type_ in columns.items())
                found.append(
                    f"the schema {name} is not known: it has the columns that the code uses"
                    f" ({listed or 'none'})"
                )
        if durations := ", ".join(self.schemas.durations):
            found.append(f"durations that are not known count as a minute: {durations}")
        return found

    def _line(self, name: str) -> str:
        columns = self.schemas.columns.get(name, {})
        schema = ", ".join(f"{_quoted(n)} {type_.sql}" for n, type_ in columns.items())
        schema = schema or "COLUMN STRING"
        if name in self._tables or not re.search(r"[/\\:]", name):
            return f"{_key(name)}: {schema}"
        short = re.sub(r"\W+", "_", PurePath(name.replace("\\", "/")).name) or "files"
        return f"{short}: {{schema: {_text(schema)}, path: {_text(name)}}}"


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else f"`{name}`"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w.]+", name) else _text(name)


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
