"""What Spark itself refuses at a restart, in the order in which it looks.

First the offset log (sources by number or by name; files by their directory), then the operators'
names by id, then the columns of their keys and values by type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from ...physical.basic import EventTimeWatermarkExec
from ...rules.preparation.state import has_single_watermark, propagate_watermarks
from ..model.errors import PlanningError
from ..model.formats import FILE_FORMATS
from ..model.schemas.types import StructType
from ..model.settings.pinned import STATE_ENCODING
from .change import NEW_CHECKPOINT
from .names import operators_by_name
from .operators import OperatorMeaning
from .report import Finding
from .side import Side, SourcePlace
from .stored import StoredCheckpoint, StoredOperator, StoredSource, reads, shape

_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
_UNNAMED = "STREAMING_QUERY_EVOLUTION_ERROR.UNNAMED_STREAMING_SOURCES_WITH_ENFORCEMENT"
_NAMED = "STREAMING_QUERY_EVOLUTION_ERROR.SOURCE_NAMING_NOT_SUPPORTED"
_NOT_COMPATIBLE = "STATE_STORE_{}_SCHEMA_NOT_COMPATIBLE"
_NO_EVOLUTION = "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION"
_CHECK = "spark.sql.streaming.stateStore.stateSchemaCheck"
_NOT_MATCH = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
_NO_STATE = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"


def refused(
    what: str,
    was: str,
    now: str,
    why: str,
    action: str,
    condition: str | None,
    operator: int | None = None,
) -> Finding:
    """A finding that Spark raises as it plans the first batch."""
    return Finding(
        verdict="refused",
        what=what,
        operator=operator,
        was=was,
        now=now,
        why=why,
        action=action,
        condition=condition,
        phase="plan",
    )


# ----------------------------------------------------------------------------------- sources


def names(stored: StoredCheckpoint, now: Side, was: Side | None) -> Iterator[Finding]:
    """Sources have names if, and only if, the session lets them."""
    named = now.asked.get(_EVOLUTION, "false").lower() == "true"
    wrong = [s for s in now.sources if (s.name is not None) != named]
    if not wrong:
        return
    views = ", ".join(s.view for s in wrong)
    yield Finding(
        verdict="refused",
        what="sources",
        now=f"{views}: without a name" if named else f"{views}: with a name",
        why=f"{_EVOLUTION} is {str(named).lower()}",
        action=f"name all sources, or set {_EVOLUTION} to {str(not named).lower()}",
        condition=_UNNAMED if named else _NAMED,
        phase="analysis",
    )


def sources(stored: StoredCheckpoint, now: Side, was: Side | None) -> Iterator[Finding]:
    """The offset log has one line for each source."""
    if stored.last_batch is None:
        return
    if stored.named:
        yield from _named(stored, now)
        return
    if len(stored.sources) != len(now.sources):
        old = was.sources if was is not None else ()
        yield refused(
            "sources",
            _listed(old) or f"{len(stored.sources)} sources",
            _listed(now.sources) or "no source",
            f"there are {len(stored.sources)} sources in the checkpoint's offsets, and now there "
            f"are {len(now.sources)} in the query",
            f"keep the sources, or {NEW_CHECKPOINT}",
            "STREAM_FAILED",
        )
        return
    for i, (line, source) in enumerate(zip(stored.sources, now.sources, strict=True)):
        old_source = was.sources[i] if was is not None and i < len(was.sources) else None
        origin = _moved(line, source, old_source, now.sources)
        if origin is not None:
            yield _other_directory(stored, line, source, origin)


def _named(stored: StoredCheckpoint, now: Side) -> Iterator[Finding]:
    """Sources with names: new ones start at their beginning, others may be left out."""
    known = [line.key for line in stored.sources]
    names = [s.name or str(i) for i, s in enumerate(now.sources)]
    for name in names:
        if name not in known:
            yield Finding(
                verdict="differs",
                what="sources",
                was=", ".join(known),
                now=", ".join(names),
                why=f"the source '{name}' is not in the offset log: it is read from its beginning",
                action=f"keep the names, or {NEW_CHECKPOINT}",
            )


def _moved(
    line: StoredSource,
    source: SourcePlace,
    old: SourcePlace | None,
    now: Sequence[SourcePlace],
) -> str | None:
    """Where the log's files are, if they are not those of the source at its place."""
    if source.format not in FILE_FORMATS or line.end is None:
        return None
    if old is not None:
        return None if old.identity == source.identity else old.identity
    found = [unquote(urlsplit(d).path) for d in line.directories]
    if not found:
        return None
    if source.path:
        path = unquote(urlsplit(source.path).path).rstrip("/").removeprefix("./")
        if any(d == path or d.endswith(f"/{path}") or f"{path}/" in f"{d}/" for d in found):
            return None
        return found[0]
    last = found[0].rstrip("/").rpartition("/")[2]
    others = {s.view for s in now if s.view != source.view}
    return found[0] if last != source.view and last in others else None


def _other_directory(
    stored: StoredCheckpoint, line: StoredSource, source: SourcePlace, origin: str
) -> Finding:
    """A file source reads the last batch's files again as it starts, and looks for its directory.

    Where that batch had none of them, it goes on, and takes all files of the new directory.
    """
    again = stored.committed != stored.last_batch or line.start is not None
    if again and line.start != line.end:
        return refused(
            "sources",
            origin,
            source.identity,
            f"the log of source {line.key} names files of another directory (Wrong basePath)",
            f"keep the order of the sources and their directories, or {NEW_CHECKPOINT}",
            "STREAM_FAILED",
        )
    return Finding(
        verdict="differs",
        what="sources",
        was=origin,
        now=source.identity,
        why=f"source {line.key} takes all files of its directory as new ones: rows count twice",
        action=f"keep the order of the sources and their directories, or {NEW_CHECKPOINT}",
    )


def _listed(places: Sequence[SourcePlace]) -> str:
    return ", ".join(place.identity for place in places)


# --------------------------------------------------------------------------------- operators


def operators(stored: StoredCheckpoint, now: Side, was: Side | None) -> Iterator[Finding]:
    """Operators are known by their ids, which count from the sink, or by the user's names."""
    if stored.committed is None:
        return
    if stored.names is not None:
        yield from operators_by_name(stored, now)
        return
    names = {o.id: o.name for o in now.operators}
    if names and not stored.has_state:
        yield refused(
            "operators",
            "no stateful operator",
            _operators_text(names),
            "the checkpoint holds no state for them",
            NEW_CHECKPOINT,
            _NO_STATE,
        )
        return
    known = {i: o.name for i, o in stored.operators.items() if o.name is not None}
    if known and known != names:
        shifted = sorted(known.values()) == sorted(names.values())
        yield refused(
            "operators",
            _operators_text(known),
            _operators_text(names) or "no stateful operator",
            "the ids of the operators shifted: state of one would be read by another"
            if shifted
            else "stateful operators were added, removed or changed into others",
            f"keep the operators and their order, or {NEW_CHECKPOINT}",
            _NOT_MATCH,
        )


def _operators_text(names: Mapping[int, str]) -> str:
    return ", ".join(f"{i} {name}" for i, name in sorted(names.items()))


# ----------------------------------------------------------------------------------- columns


def schemas(stored: StoredCheckpoint, now: Side, was: Side | None) -> Iterator[Finding]:
    """Types by position are compared; names and nullability are not. Avro goes by names."""
    compared = now.asked.get(_CHECK, "true").lower() == "true"
    by_name = stored.conf.get(STATE_ENCODING, "unsaferow").lower() == "avro"
    for operator in now.operators:
        known = stored.operators.get(operator.id)
        if known is not None:
            yield from _schemas(operator, known, compared=compared, by_name=by_name)


def _schemas(
    operator: OperatorMeaning, known: StoredOperator, *, compared: bool, by_name: bool
) -> Iterator[Finding]:
    for store in operator.stores:
        schema = known.stores.get(store.name)
        if schema is None:
            continue
        for which, old, new in (
            ("key", schema.key, store.key),
            ("value", schema.value, store.value),
        ):
            fields = fields_of(new)
            if [shape(f["type"]) for f in old] == [shape(f["type"]) for f in fields]:
                continue
            evolves = by_name and which == "value" and store.name in operator.variables
            if evolves and reads(old, fields):
                continue
            added = len(fields) - len(old)
            failure = f"CANNOT_LOAD_STATE_STORE.{which.upper()}_ROW_FORMAT_VALIDATION_FAILURE"
            yield Finding(
                verdict="refused",
                what=f"state {which}",
                operator=operator.id,
                was=fields_text(old),
                now=fields_text(fields),
                why=f"the {which} of the state has {_difference(added)}",
                action=_remedy(which, added),
                # Without the check the first row that is read fails.
                condition=(_NO_EVOLUTION if evolves else _NOT_COMPATIBLE.format(which.upper()))
                if compared
                else failure,
                phase="plan" if compared else "batch",
            )
            return


def properties(stored: StoredCheckpoint, now: Side, was: Side | None) -> Iterator[Finding]:
    """The time mode and the output mode of a processor stay as they are."""
    before = {o.id: o.fixed for o in was.operators} if was is not None else {}
    for operator in now.operators:
        known = stored.operators.get(operator.id)
        if known is None:
            continue
        kept = known.properties or before.get(operator.id, {})
        for name, mode in operator.fixed.items():
            if name in kept and kept[name] != mode:
                yield refused(
                    name,
                    str(kept[name]),
                    mode,
                    f"Spark keeps the {name} of a processor in the checkpoint",
                    f"set it to {kept[name]}, or {NEW_CHECKPOINT}",
                    "STATE_STORE_INVALID_CONFIG_AFTER_RESTART",
                    operator.id,
                )
                return
        for variable in known.properties.get("stateVariables", ()):
            name, kind = variable["stateName"], variable["stateVariableType"]
            if operator.variables.get(name, kind) != kind:
                yield refused(
                    f"state variable {name}",
                    kind,
                    operator.variables[name],
                    "Spark keeps in the checkpoint of what kind a state variable is",
                    f"give the variable a new name, or {NEW_CHECKPOINT}",
                    "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE",
                    operator.id,
                )
                return


def watermarks(stored: StoredCheckpoint, now: Side, was: Side | None) -> Iterator[Finding]:
    """One watermark above another: Spark finds out once the query's has left 1970."""
    if stored.committed is None or not now.operators:
        return
    try:
        propagate_watermarks(now.plan, 1, redefine=has_single_watermark(now.conf))
    except PlanningError as error:
        marks = now.plan.collect(EventTimeWatermarkExec)
        yield refused(
            "watermark",
            "",
            ", ".join(
                f"{mark.event_time.name} with a delay of {mark.delay_text}" for mark in marks
            ),
            error.message.strip(),
            error.hint or "keep one of the watermarks",
            error.condition,
        )


def _difference(added: int) -> str:
    if added:
        return (
            f"{abs(added)} column{'s' if abs(added) > 1 else ''} {'more' if added > 0 else 'less'}"
        )
    return "columns of other types"


def _remedy(which: str, added: int) -> str:
    if which == "value" and not added:
        return f"cast the columns to the old types, or {NEW_CHECKPOINT}"
    return f"keep the old columns, or {NEW_CHECKPOINT}"


def fields_of(schema: StructType) -> list[dict[str, Any]]:
    """A schema's columns in Spark's JSON."""
    content = schema.json
    assert isinstance(content, dict)
    return list(content["fields"])


def fields_text(fields: Sequence[Mapping[str, Any]]) -> str:
    """Columns of schema JSON with their types."""
    texts = (f"{f['name']} {_type_text(f['type'])}" for f in fields)
    return ", ".join(texts) or "nothing"


def _type_text(value: Any) -> str:
    match value:
        case {"type": "struct", "fields": list(fields)}:
            return f"struct<{fields_text(fields)}>"
        case {"type": "array", "elementType": element}:
            return f"array<{_type_text(element)}>"
        case {"type": "map", "keyType": key, "valueType": item}:
            return f"map<{_type_text(key)}, {_type_text(item)}>"
        case _:
            return str(value)


ORDER = (names, sources, operators, schemas, properties, watermarks)
"""The checks in Spark's order: each only where those before it refuse nothing."""
