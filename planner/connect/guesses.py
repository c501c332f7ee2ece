"""Tables and directories that nobody described: what a script's code says about their columns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from ...rules.analysis.names.extraction import field_path
from ..model.catalog import Source, TempView
from ..model.errors import StateplanError
from ..model.expressions.core import AttributeReference, Expression, GetStructField
from ..model.functions.mismatch import ArgumentError
from ..model.schemas.open_schemas import (
    ELEMENT,
    OpenSchemas,
    as_struct,
    nested_paths,
    retyped,
    usual_type,
    with_field,
)
from ..model.schemas.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructType,
)
from .protocol import UNKNOWN_TABLE

UNKNOWN_FUNCTION = "UNRESOLVED_ROUTINE"
_WITHIN = "\0"  # between the parts of a path
_UNKNOWN_NAME = ("UNRESOLVED_COLUMN", "EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN")
_OF_BOTH_SIDES = "UNRESOLVED_USING_COLUMN_FOR_JOIN"
_SIDE = re.compile(r"\bon the (\w+) side\b")
_NO_FIELDS = ("FIELD_NOT_FOUND", "INVALID_EXTRACT_BASE_FIELD_TYPE")
# `payload.*`, where there is no such column, or it is no struct.
_STARS = {"CANNOT_RESOLVE_STAR_EXPAND": "star", "_LEGACY_ERROR_TEMP_1050": "struct"}
_NO_TIME = "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE"
# Types that an expression may need of a column, the likeliest first.
_TYPES = (
    *(DOUBLE, TIMESTAMP, ArrayType(STRING), BOOLEAN, MapType(STRING, STRING)),
    *(StructType(()), BINARY),
)
Remedy = tuple[str, dict[str, DataType]]  # a schema's name and its columns as they might be


def is_unknown_source(error: StateplanError) -> bool:
    """Whether an error says that nobody described a table, a directory or a format."""
    return error.condition in (*UNKNOWN_TABLE, "STATEPLAN_SCHEMA_UNKNOWN")


class Guesses:
    """Columns of what is not described, one for each name that the code uses.

    A guess is a way to a message that can be copied, or, with --write-catalog, to a first plan:
    columns are texts unless the code needs another type of them. Which of several sources a column
    is of, and which type it needs, is found by trying: what leaves the same error is taken back.

    Attributes:
        sources: the tables (by name), directories and formats that were asked for.
        accepted: plan with the guesses instead of refusing what nobody described.
        functions: those that nobody knows, by their lower names: each gives a text.
    """

    def __init__(self, schemas: OpenSchemas) -> None:
        self.schemas = schemas
        self.sources: dict[str, None] = {}
        self._tables: dict[str, None] = {}
        self._copies: dict[StructType, str] = {}
        self.functions: dict[str, None] = {}
        self.accepted = False
        self._problem: tuple[str, ...] = ()
        self._remedies: Iterator[Remedy] = iter(())
        self._tried: tuple[str, dict[str, DataType]] | None = None

    def schema(self, source: str, always: str = "") -> StructType | None:
        """The guessed columns of a directory or a format; None if nothing is guessed of it.

        Args:
            source: its path, or the format's name.
            always: a column of texts that it has besides.
        """
        if source not in self.sources:
            return None
        columns = self.schemas.columns.get(source, {})
        if always and always not in columns:
            self.schemas.columns[source] = {**columns, always: STRING}
        return self.schemas.schema(source)

    def hinted(self, source: str, hints: StructType) -> StructType:
        """The columns of a directory of which hints name some; those alone unless one may guess."""
        if not self.accepted or not source:
            return hints
        if source not in self.sources:
            self.sources.setdefault(source)
            hinted = {field.name: field.data_type for field in hints.fields}
            self.schemas.columns[source] = hinted | self.schemas.columns.get(source, {})
        return self.schemas.schema(source)

    def same_schema(self, given: StructType) -> StructType:
        """The columns of a schema that the code has taken from a source whose columns are guessed.

        `spark.readStream.schema(spark.read.parquet(path).schema)` reads what the path has.
        """
        name = self._copies.get(given)
        if name is None:
            equal = (n for n in reversed(self.sources) if self.schemas.known(n) == given)
            name = next(equal, None)
            if name is None:
                return given
            self._copies[given] = name
        return self.schemas.schema(name)

    def tables(self) -> dict[str, Source | TempView]:
        """The tables by name."""
        found: dict[str, Source | TempView] = {}
        for name in self._tables:
            self.schemas.used.setdefault(name)
            columns = self.schemas.known(name)
            found[name.lower()] = Source(name=name, schema=columns, format="delta", either=True)
        return found

    def may_fix(self, error: StateplanError) -> bool:
        """Whether an error may be of a kind that `widened` takes in."""
        known = is_unknown_source(error) or error.condition == UNKNOWN_FUNCTION
        return known or bool(self._problem_of(error))

    def withdraw(self) -> None:
        """Forget all guesses."""
        self.accepted = False
        for name in self.sources:
            self.schemas.columns.pop(name, None)
            self.schemas.used.pop(name, None)
        self.sources.clear()
        self._tables.clear()
        self._tried = None

    def widened(self, error: StateplanError) -> bool:
        """Take in what an error says is missing; False if it is none that a guess can fix."""
        if error.condition == UNKNOWN_FUNCTION:
            name = ".".join(error.subject).lower()
            if not self.accepted or name in self.functions:
                return False
            self.functions.setdefault(name)
            return True
        if is_unknown_source(error):
            name, condition = ".".join(error.subject), error.condition or ""
            return bool(name) and self.accepted and self._add_source(name, condition)
        problem = self._problem_of(error)
        # A second column of a name is no better than none.
        worse = problem == self._problem or error.condition == "AMBIGUOUS_REFERENCE"
        if self._problem and worse and self._tried is not None:
            self.schemas.columns[self._tried[0]] = self._tried[1]
        else:
            self._problem, self._remedies = problem, self._remedies_of(problem)
        self._tried = None
        for name, columns in self._remedies:
            self._tried = name, self.schemas.columns[name]
            self.schemas.columns[name] = columns
            return True
        return False

    def settled(self) -> None:
        """What was tried last has led to a plan."""
        self._problem, self._tried = (), None

    def _problem_of(self, error: StateplanError) -> tuple[str, ...]:
        """What is missing: a word for the kind of the problem, then the names; or nothing."""
        condition = error.condition or ""
        if condition.startswith("DATATYPE_MISMATCH") and isinstance(error, ArgumentError):
            paths = () if error.call is None else _paths(error.call)
            names = dict.fromkeys(_WITHIN.join(path) for path in paths if path)
            return ("type", *names) if names else ()
        if not error.subject:
            return ()
        if condition.startswith(_UNKNOWN_NAME):
            return "name", *error.subject
        if condition == _OF_BOTH_SIDES:
            # One side may lack it still when the other has been given it.
            return _SIDE.findall(error.message)[-1], *error.subject
        if condition in _STARS:
            return _STARS[condition], *error.subject
        if condition.startswith(_NO_FIELDS):
            return "field", *error.subject
        return ("time", *error.subject) if condition == _NO_TIME else ()

    def _remedies_of(self, problem: tuple[str, ...]) -> Iterator[Remedy]:
        """The schemas with a column more, or with another type; the latest used first."""
        if not problem:
            return
        kind, *parts = problem
        latest = [(n, self.schemas.columns[n]) for n in reversed(self.schemas.used)]
        named = kind not in ("type", "time", "star", "struct") and parts[-1] != ELEMENT
        for name, columns in latest if named else ():
            if parts[-1] not in columns:
                yield name, {**columns, parts[-1]: usual_type(parts[-1])}
        # The first part is a table's name, or else a struct's.
        for path in (parts[1:], parts) if kind in ("name", "field") else ():
            for name, columns in latest:
                if len(path) < 2 or (kind == "field" and path[0] not in columns):
                    continue
                if changed := with_field(columns, path):
                    yield name, changed
        within: list[tuple[type[DataType], list[str]]] = []
        if kind in ("name", "field"):
            # What `payload.*` gave is a field of the struct, and so may be what has another's name.
            within.append((StructType, parts if kind == "field" else parts[-1:]))
        if kind == "field":
            # The element of an array that `explode` gave another name.
            within.append((ArrayType, parts[-1:]))
            # A column that has another name by now.
            within.append((StringType, parts[1:]))
        for nested, below in within:
            for name, columns in latest:
                for above in nested_paths(columns, nested):
                    if changed := with_field(columns, (*above, *below)):
                        yield name, changed
        change = {"star": with_field, "struct": as_struct}.get(kind)
        for path in (parts[i:] for i in range(len(parts))) if change else ():
            for name, columns in latest:
                if change and (changed := change(columns, path)):
                    yield name, changed
        for name, columns in latest:
            for part in parts if kind == "type" else ():
                for type_ in _TYPES:
                    if (changed := retyped(columns, part.split(_WITHIN), type_)) is not None:
                        yield name, changed
            # The event time may have another name than the column that it is.
            for part in sorted(columns, key=lambda n: n not in parts) if kind == "time" else ():
                if columns[part] == STRING:
                    yield name, {**columns, part: TIMESTAMP}

    def _add_source(self, name: str, condition: str) -> bool:
        # What is read as a directory here may be named as a table elsewhere.
        known = self._tables if condition in UNKNOWN_TABLE else self.sources
        if name in known:
            return False
        self.sources.setdefault(name)
        known.setdefault(name)
        return True

    def lines(self, taken: Iterable[str] = ()) -> list[str]:
        """The guesses as lines of a catalog file whose other entries have the names `taken`."""
        names = set(taken)
        return [self._line(name, names) for name in self.sources]

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
        if functions := ", ".join(self.functions):
            found.append(f"functions that are not known are taken to give a text: {functions}")
        if durations := ", ".join(self.schemas.durations):
            found.append(f"durations that are not known count as a minute: {durations}")
        return found

    def _line(self, name: str, taken: set[str]) -> str:
        columns = self.schemas.columns.get(name, {})
        schema = ", ".join(f"{_quoted(n)} {type_.sql}" for n, type_ in columns.items())
        schema = schema or "COLUMN STRING"
        if name in self._tables or not re.search(r"[/\\:]", name):
            return f"{_key(name)}: {_text(schema) if ': ' in schema else schema}"
        stem = re.sub(r"\W+", "_", PurePath(name.replace("\\", "/")).name) or "files"
        numbered = (f"{stem}_{number}" for number in itertools.count(2))
        short = next(one for one in itertools.chain((stem,), numbered) if one not in taken)
        taken.add(short)
        return f"{short}: {{schema: {_text(schema)}, path: {_text(name)}}}"


def _paths(expression: Expression) -> Iterator[tuple[str, ...]]:
    """The columns and the fields of structs that an expression is made of."""
    if isinstance(expression, AttributeReference | GetStructField):
        yield field_path(expression)
    else:
        for child in expression.children:
            yield from _paths(child)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else f"`{name}`"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w.]+", name) else _text(name)


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
