"""Query descriptions and scenarios: YAML or JSON files, checked key by key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field, ValidationError

from .model.errors import DescriptionError
from .model.output_modes import OutputMode
from .model.settings.conf import option_text

Row = dict[str, Any]


def _as_text(value: object) -> object:
    """Settings and options are strings in Spark: `4` and `true` may be written without quotes."""
    return option_text(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_as_text)]


class _Strict(BaseModel):
    """Refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class SourceDescription(_Strict):
    """A named source.

    Attributes:
        schema_: the key `schema`: columns as DDL; may be left out where a format always has the
            same (rate, socket, kafka, ...).
        static: a table, read once, instead of a stream.
        rows: a static table's rows, instead of a path.
        format: a source's name (runtime/sources): json, parquet, rate, socket, kafka, delta, ...
        path: the directory of its files, relative to the description's own.
        size: how large a static table's files are (`64 MB`), for the choice of joins, where that
            of the files under `path` is not it.
        options: those of Spark's reader (`maxFilesPerTrigger`, `rowsPerSecond`, ...).
        name: the stream's name in the offset log (`DataStreamReader.name`).
    """

    schema_: str | None = Field(default=None, alias="schema")
    static: bool = False
    rows: tuple[Row, ...] | None = None
    format: str = "json"
    path: str | None = None
    size: ByteSize | None = None
    options: dict[str, Text] = Field(default_factory=dict)
    name: str | None = None


class SinkDescription(_Strict):
    """Where the rows go: a sink's name (runtime/sinks), with its path or options.

    `table`: a table of Spark's catalog, made of files of the format if it is not there.
    """

    format: str
    path: str | None = None
    table: str | None = None
    options: dict[str, Text] = Field(default_factory=dict)
    partition_by: tuple[str, ...] = ()


class Step(_Strict):
    """One step of a scenario: a micro-batch's rows by source, or a restart.

    `crash`: the sink fails behind the batch, which then runs again from the checkpoint.
    """

    batch: dict[str, tuple[Row, ...] | None] | None = None
    crash: bool = False
    restart: bool = False


class ExpectedBatch(_Strict):
    """What a scenario expects of a batch: as `stateplan test --update` writes it."""

    id: int
    step: int | None = None
    no_data: bool = False
    watermark: str | None = None
    rows: tuple[tuple[Any, ...], ...]
    state: tuple[dict[str, Any], ...] = ()


class ExpectedError(_Strict):
    """How a scenario expects that the query fails; some errors of Spark's have no condition."""

    phase: str
    step: int | None = None
    batch: int | None = None
    condition: str | None
    message: str | None = None


class Expectation(_Strict):
    """What a scenario expects: the columns' names and types, the batches, an error."""

    columns: tuple[tuple[str, str], ...] = ()
    batches: tuple[ExpectedBatch, ...] = ()
    error: ExpectedError | None = None


class Description(_Strict):
    """A streaming query, its sources and, for running, its sink, trigger and checkpoint.

    Attributes:
        trigger: `available_now`, `once`, `default`, or an interval such as `10 seconds` (also
            written `processing_time: 10 seconds`).
        checkpoint: a directory, relative to the description's own.
        names: of the stateful operators, the one nearest the sink first: our runtime then finds
            their state by name.
        topic, notes, steps, ordered, expect: those of scenarios and golden plans.
    """

    id: str | None = None
    title: str | None = None
    topic: str | None = None
    notes: str | None = None
    sources: dict[str, SourceDescription] = Field(default_factory=dict)
    sql: str | None = None
    python: str | None = None
    output_mode: OutputMode = "append"
    conf: dict[str, Text] = Field(default_factory=dict)
    name: str | None = None
    names: tuple[str, ...] = ()
    sink: SinkDescription | None = None
    trigger: str | None = None
    checkpoint: str | None = None
    ordered: bool = False
    steps: tuple[Step, ...] = ()
    expect: dict[str, Any] | None = None


class Scenario(Description):
    """A description with the steps to run and, mostly, what they should emit."""

    steps: tuple[Step, ...]


_Model = TypeVar("_Model", bound=BaseModel)
_Description = TypeVar("_Description", bound=Description)


def load_description(path: str | Path) -> Description:
    """Read a query description.

    Raises:
        DescriptionError: the file is missing or broken, or one of its keys is; it says which.
    """
    return _load(Path(path), Description)


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario; raises as `load_description`, and where it has no steps."""
    scenario = _load(Path(path), Scenario)
    if scenario.expect is not None:
        _validated(scenario.expect, Expectation, str(path), ("expect",))
    return scenario


def _load(path: Path, model: type[_Description]) -> _Description:
    content = read_file(path)
    if not isinstance(content, dict):
        raise DescriptionError.of("STATEPLAN_BAD_DESCRIPTION", path=path)
    return _checked(_normalised(content), model, str(path))


def parse_description(content: Mapping[str, Any], origin: str = "the description") -> Description:
    """Check a description given as data instead of a file."""
    return _checked(_normalised(dict(content)), Description, origin)


def _normalised(content: dict[str, Any]) -> dict[str, Any]:
    """Short forms written out: `sink: console`, `trigger: {processing_time: 10 seconds}`."""
    sink, trigger = content.get("sink"), content.get("trigger")
    if isinstance(sink, str):
        content = {**content, "sink": {"format": sink}}
    if isinstance(trigger, dict):
        content = {**content, "trigger": trigger_text(trigger)}
    return content


def trigger_text(given: object) -> str:
    """A trigger as text: given so, or as one of the arguments of PySpark's `trigger`.

    Raises:
        DescriptionError: it is neither, or a trigger that does not run micro-batches.
    """
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping) and len(given) == 1:
        ((key, value),) = given.items()
        match str(key).lower().replace("_", ""), value:
            case "processingtime", str():
                return value
            case "once", True:
                return "once"
            case "availablenow", True:
                return "available_now"
            case (("continuous" | "realtime"), _):
                raise DescriptionError.of("STATEPLAN_TRIGGER_UNSUPPORTED", key=key)
    raise DescriptionError.of("STATEPLAN_BAD_TRIGGER", given=f"{given!r:.80}")


def _checked(content: dict[str, Any], model: type[_Description], origin: str) -> _Description:
    description = _validated(content, model, origin)
    if (description.sql is None) == (description.python is None):
        raise DescriptionError.of("STATEPLAN_SQL_OR_PYTHON", where=origin)
    return description


def _validated(
    content: dict[str, Any], model: type[_Model], origin: str, under: tuple[str, ...] = ()
) -> _Model:
    """The content as a model; `under`: the keys that it stands under."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise _refusal(error, model, origin, under) from None


def read_file(path: Path) -> Any:
    """The content of a YAML or JSON file, dates as they are written.

    Raises:
        DescriptionError: the file is missing, unreadable or broken.
    """
    text = read_text(path)
    try:
        if path.suffix == ".json":
            return json.loads(text)
        return yaml.load(text, _Loader)
    except json.JSONDecodeError as error:
        raise _broken(path, "JSON", error.lineno, error.colno, error.msg) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise _broken(path, "YAML", line, column, error.problem or str(error)) from None
    except yaml.YAMLError as error:
        raise _broken(path, "YAML", 1, 1, str(error)) from None


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        DescriptionError: it is missing, unreadable or no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DescriptionError.of("STATEPLAN_FILE_NOT_FOUND", file=path) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise DescriptionError.of("STATEPLAN_FILE_UNREADABLE", path=path, reason=reason) from None


def _broken(path: Path, kind: str, line: int, column: int, problem: str) -> DescriptionError:
    return DescriptionError.of(
        "STATEPLAN_BAD_FILE",
        hint=f"Fix the {kind} at that place.",
        path=path,
        kind=kind,
        problem=problem,
        line=line,
        column=column,
    )


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML's safe loader, but a date stays the text that was written."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


# ------------------------------------------------------------------------------------- messages


def _refusal(
    error: ValidationError, model: type[BaseModel], origin: str, under: tuple[str, ...]
) -> DescriptionError:
    """The first thing that is wrong, with the file and the key named."""
    details = error.errors()[0]
    place = tuple(str(part) for part in details["loc"])
    key = ".".join((*under, *place))
    if details["type"] == "extra_forbidden":
        known = _keys_at(model, place[:-1])
        near = difflib.get_close_matches(place[-1], known, n=1, cutoff=0.0)
        return DescriptionError.of(
            "STATEPLAN_UNKNOWN_KEY",
            hint=f"Did you mean '{near[0]}'? Known here: {', '.join(known)}.",
            where=origin,
            key=key,
        )
    if details["type"] == "missing":
        return DescriptionError.of(
            "STATEPLAN_MISSING_KEY", hint=f"Add '{place[-1]}:'.", where=origin, key=key
        )
    return DescriptionError.of(
        "STATEPLAN_BAD_VALUE",
        hint=f"Fix '{key}'.",
        where=origin,
        key=key,
        reason=details["msg"][:1].lower() + details["msg"][1:],
    )


def _keys_at(model: type[BaseModel], place: tuple[str, ...]) -> list[str]:
    """The keys that are known at a place, as written in files."""
    inner: dict[str, type[BaseModel]] = {
        "sources": SourceDescription,
        "sink": SinkDescription,
        "steps": Step,
        "batches": ExpectedBatch,
        "error": ExpectedError,
    }
    current = inner.get(place[0], model) if place else model
    return [field.alias or name for name, field in current.model_fields.items()]
