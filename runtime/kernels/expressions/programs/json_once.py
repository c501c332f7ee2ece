"""Reads a JSON text once in a program, whatever is asked of it.

    from_json(text, a INT, b STRING).a          read = from_json(text, a INT, c INT)
    from_json(text, b STRING, c INT).c          read.a, read.c

    get_json_object(text, '$.a')                read = get_json_object(text, '$.a', '$.b.c')
    get_json_object(text, '$.b.c')              read.0, read.1

    from_json(text, MAP<STRING, STRING>)['a']   read = from_json(text, a STRING)
                                                read.a

A field's value depends on no other field of the schema (JacksonParser in PERMISSIVE mode), so only
those that are used are read. In a map of strings there is no bad value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .operation_facts import leaves
from .program import Kind, Program, Step

PARTS = "parts"
"""The option of a from_json of which fields alone are taken, never the struct itself."""
UNIQUE = "unique"
"""The option of a from_json by which a name that is read must not stand twice in a text."""

Formats = tuple[str | None, ...]
"""The patterns of a from_json's dates and times (`FORMATS` of json/support.py)."""


def formats_of(step: Step) -> Formats:
    """The formats of a from_json, where it has any."""
    return next((option for option in step.options if isinstance(option, tuple)), ())


def json_once(program: Program) -> Program:
    """The program in which each text is parsed as seldom as can be."""
    readings = _readings(program)
    if not readings:
        return program
    steps: list[Step] = []
    moved: list[int] = []

    def add(step: Step) -> int:
        steps.append(step)
        return len(steps) - 1

    for place, old in enumerate(program.steps):
        step = replace(old, inputs=tuple(moved[i] for i in old.inputs))
        reading = readings.get(place)
        if reading is not None:
            if reading.place is None:
                reading.place = add(reading.of(step))
            is_struct = step.name == "from_json"
            moved.append(
                reading.place if is_struct else add(reading.value(step, _constant(program, old)))
            )
            continue
        above = readings.get(old.inputs[0]) if old.inputs else None
        field = _field(program, old)
        moved.append(add(step if above is None or field is None else above.value(step, field)))
    observed = program.observed
    return Program(
        steps=tuple(steps),
        conditions=tuple(moved[i] for i in program.conditions),
        results=tuple(moved[i] for i in program.results),
        observed=observed and replace(observed, place=moved[observed.place]),
    )


@dataclass
class _Reading:
    """What is read of a text in one go.

    Attributes:
        fields: names, or paths, and the kinds of their values.
        zone: in which timestamps are read; None: there are none.
        formats: of dates and times.
        of_map: whether they are keys of a map, of which none can stand twice.
        whole: whether the struct itself is wanted, so that it can have no other fields.
        place: where the step stands that reads; None: nowhere yet.
    """

    fields: dict[str, Kind]
    zone: str | None = None
    formats: Formats = ()
    of_map: bool = False
    whole: bool = False
    place: int | None = field(default=None, compare=False)

    def takes(self, other: _Reading) -> bool:
        """Take in what another one reads; False: that cannot be."""
        if any(self.fields.get(name, kind) != kind for name, kind in other.fields.items()):
            return False
        if (self.of_map, self.formats) != (other.of_map, other.formats):
            return False
        if None not in (self.zone, other.zone) and self.zone != other.zone:
            return False
        if self.whole and (other.whole or not other.fields.keys() <= self.fields.keys()):
            return False
        self.fields.update(other.fields)
        self.zone = self.zone or other.zone
        return True

    def of(self, step: Step) -> Step:
        """The step that reads, in the place of one that reads some of it."""
        kind: Kind = ("struct", tuple(self.fields), tuple(self.fields.values()))
        if step.name == "from_json":
            options = () if self.whole else (PARTS, UNIQUE) if self.of_map else (PARTS,)
            formats = (self.formats,) if self.formats else ()
            return replace(step, kind=kind, zone=self.zone or "UTC", options=(*options, *formats))
        text = replace(step, inputs=step.inputs[:1], kinds=step.kinds[:1])
        return replace(text, kind=kind, options=tuple(self.fields))

    def value(self, step: Step, name: str) -> Step:
        """The step that takes a value of what is read, in the place of another one."""
        assert self.place is not None
        kind: Kind = ("struct", tuple(self.fields), tuple(self.fields.values()))
        ordinal = list(self.fields).index(name)
        return replace(
            step, name="get_struct_field", inputs=(self.place,), kinds=(kind,), options=(ordinal,)
        )


def _readings(program: Program) -> Mapping[int, _Reading]:
    """By the place of a step that reads JSON, what is read there."""
    wanted: dict[int, _Reading] = {}
    used_whole = {*program.results, *program.conditions}
    used: dict[int, set[str]] = {}
    for step in program.steps:
        field = _field(program, step)
        if field is None:
            used_whole.update(step.inputs)
        else:
            used.setdefault(step.inputs[0], set()).add(field)
    for place, step in enumerate(program.steps):
        whole, names = place in used_whole, used.get(place, set())
        if step.name == "get_json_object":
            wanted[place] = _Reading({_constant(program, step): "string"})
        elif step.name == "from_json" and step.kind[0] == "struct":
            fields = dict(zip(step.kind[1], step.kind[2], strict=True))
            if not whole:
                fields = {name: kind for name, kind in fields.items() if name in names}
            zone = step.zone if any("timestamp" in leaves(k) for k in fields.values()) else None
            wanted[place] = _Reading(fields, zone, formats_of(step), whole=whole)
        elif step.name == "from_json" and step.kind[2] == ("string", "string") and not whole:
            wanted[place] = _Reading(dict.fromkeys(sorted(names), "string"), of_map=True)
    known: dict[tuple[str, int], list[_Reading]] = {}
    found: dict[int, _Reading] = {}
    for place in sorted(wanted, key=lambda place: not wanted[place].whole):
        own, step = wanted[place], program.steps[place]
        others = known.setdefault((step.name, step.inputs[0]), [])
        found[place] = next((one for one in others if one.takes(own)), own)
        if found[place] is own:
            others.append(own)
    return found


def _constant(program: Program, step: Step) -> str:
    """A step's second argument, a text."""
    text = program.steps[step.inputs[1]].options[0]
    assert isinstance(text, str)
    return text


def _field(program: Program, step: Step) -> str | None:
    """The name of a field, or the key of a map's value, that a step takes of its first argument."""
    match step.name:
        case "get_struct_field":
            kind, ordinal = program.steps[step.inputs[0]].kind, step.options[0]
            assert isinstance(kind, tuple) and isinstance(ordinal, int)
            return kind[1][ordinal] if kind[0] == "struct" else None
        case "get_map_value" | "element_at":
            key = program.steps[step.inputs[1]]
            known = key.name == "literal" and isinstance(key.options[0], str)
            return _constant(program, step) if known else None
    return None
