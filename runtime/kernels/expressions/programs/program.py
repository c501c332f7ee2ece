"""A compiled expression: what travels to tasks. Neither the planner nor Arrow is needed to hold it.

A program is a flat tuple of steps; a step names its inputs by their places, so that what two
expressions share is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

Kind = str | tuple[str, tuple[str, ...], tuple["Kind", ...]]
"""A type: Spark's simple name (`bigint`, `decimal(10,2)`), `daytime` and `yearmonth` for intervals,
for a struct `("struct", names, kinds)`, likewise `array` with one kind and `map` with two."""

UNTOUCHED: Kind = "untouched"
"""The kind of a column that only passes, whatever its type: nothing but a null test takes it."""

Mode = str
"""`ANSI`: a value that does not fit is an error. `LEGACY`: Spark's older rules. `TRY`: null."""


@dataclass(frozen=True)
class Step:
    """One operation.

    Attributes:
        name: `column`, `parameter` (of a lambda), `literal`, or an operation (operations.py,
            nested/lambdas.py).
        inputs: the places of its inputs, each less than its own.
        kind: the type of its result.
        kinds: the types of its inputs.
        mode: what happens to a value that does not fit.
        zone: the time zone that it reckons in.
        options: constants: a column's position, a literal's value, the programs of lambdas.
        raises: whether it or an input of it can raise; rows that Spark skips must be skipped then.
        context: where in the query it stands, for messages.
    """

    name: str
    inputs: tuple[int, ...]
    kind: Kind
    kinds: tuple[Kind, ...] = ()
    mode: Mode = "ANSI"
    zone: str = "UTC"
    options: tuple[object, ...] = ()
    raises: bool = False
    context: str = field(default="", compare=False)

    @property
    def chosen(self) -> tuple[int, ...]:
        """The places of the inputs that a string is chosen from, if it is."""
        if self.kind != "string":
            return ()
        if self.name == "coalesce":
            return self.inputs
        is_case = self.name in ("if", "case")
        return (*self.inputs[1:-1:2], self.inputs[-1]) if is_case else ()


class Refused(ValueError):
    """A pattern or format has a part that is not computed here, or that Java refuses."""


_REFUSING = (
    *("from_json", "from_csv", "get_json_object"),
    *("gettimestamp", "unix_timestamp", "to_unix_timestamp"),
    *("str_to_map", "unbase64", "url_decode", "try_url_decode", "parse_url", "try_parse_url"),
    *("map_from_arrays", "map_from_entries", "map_concat", "transform_keys", "array_sort"),
    *("make_timestamp", "make_timestamp_ltz", "try_make_timestamp", "try_make_timestamp_ltz"),
    "timestampadd",
)


@dataclass(frozen=True)
class Observed:
    """A value that is observed.

    Attributes:
        place: its place.
        passed: how many of the conditions rows have passed by then.
    """

    place: int
    passed: int


@dataclass(frozen=True)
class Program:
    """Steps in an order in which they can be computed, and which of them are results.

    Attributes:
        conditions: the places of conditions, in the order in which rows have to pass them.
        results: the places of the results.
        observed: what is observed of rows that may not have passed all conditions; None: nothing.
    """

    steps: tuple[Step, ...]
    conditions: tuple[int, ...]
    results: tuple[int, ...]
    observed: Observed | None = None

    @property
    def kind(self) -> Kind:
        """The type of the first result."""
        return self.steps[self.results[0]].kind

    @property
    def raises(self) -> bool:
        """Whether the first result can fail."""
        return self.steps[self.results[0]].raises

    @property
    def read(self) -> frozenset[int]:
        """The positions of the columns that it reads."""
        return _positions(self.steps)

    def only(self, start: int, end: int | None = None, *, conditions: bool = True) -> Program:
        """Some of its results, with the steps that these need, and its conditions or none.

        Nothing is observed.
        """
        results = self.results[start:end]
        passed = self.conditions if conditions else ()
        needed = _with_inputs(self.steps, (*results, *passed))
        number = {place: i for i, place in enumerate(needed)}
        steps = (
            replace(self.steps[place], inputs=tuple(number[i] for i in self.steps[place].inputs))
            for place in number
        )
        return Program(
            tuple(steps), tuple(number[i] for i in passed), tuple(number[i] for i in results)
        )

    @property
    def read_by_word(self) -> frozenset[int]:
        """The positions of the columns that are results, that steps of results take alone, or that
        they choose."""
        results = (self.steps[place] for place in self.results)
        chosen = (self.steps[i] for place in self._needed for i in self.steps[place].chosen)
        return self.taken_alone | _positions(results) | _positions(chosen)

    @property
    def taken_alone(self) -> frozenset[int]:
        """The positions of the columns that steps of results take alone."""
        taken = (self._columns_of(place) for place in self._needed)
        return _positions(self.steps[places[0]] for places in taken if len(places) == 1)

    @property
    def _needed(self) -> Sequence[int]:
        return _with_inputs(self.steps, self.results)

    def _columns_of(self, place: int) -> Sequence[int]:
        """The inputs of a step that are not constants."""
        return [i for i in self.steps[place].inputs if self.steps[i].name != "literal"]

    @property
    def refuses_values(self) -> bool:
        """Whether it refuses values that Spark takes: bytes as strings, some JSON, some times."""
        return any(map(_refuses, self.steps))


def can_stop(steps: Sequence[Step], place: int) -> bool:
    """Whether a step or one that it needs can raise, or refuses values that Spark takes."""
    return any(steps[i].raises or _refuses(steps[i]) for i in _with_inputs(steps, (place,)))


def _with_inputs(steps: Sequence[Step], places: Iterable[int]) -> Sequence[int]:
    """The places of some steps and of all that they need, ascending."""
    needed = set(places)
    for place in reversed(range(len(steps))):
        if place in needed:
            needed.update(steps[place].inputs)
    return sorted(needed)


def _positions(steps: Iterable[Step]) -> frozenset[int]:
    """The positions of the columns among some steps."""
    columns = (step.options[0] for step in steps if step.name == "column")
    return frozenset(position for position in columns if isinstance(position, int))


def _refuses(step: Step) -> bool:
    if step.name in _REFUSING:
        return True
    if step.name == "cast":
        return _casts_some(step.kinds[0], step.kind)
    return any(body.refuses_values for body in step.options if isinstance(body, Program))


def _casts_some(source: Kind, target: Kind) -> bool:
    if isinstance(source, tuple) and isinstance(target, tuple):
        return any(map(_casts_some, source[2], target[2]))
    return (source, target) == ("binary", "string") or (
        source == "string" and decimal_of(target) is not None
    )


def decimal_of(kind: Kind) -> tuple[int, int] | None:
    """Precision and scale of a decimal's kind; None: it is another one."""
    if not isinstance(kind, str) or not kind.startswith("decimal("):
        return None
    precision, scale = kind[8:-1].split(",")
    return int(precision), int(scale)
