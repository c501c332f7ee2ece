"""Programs of expressions over record batches, a column at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .nested.lambdas import HIGHER_ORDER, Positions
from .operations import OPERATIONS
from .programs.program import Kind, Program, Step
from .programs.supported import OPERATIONS as KNOWN
from .values.constants import constant
from .values.vectors import (
    Value,
    decoded,
    has_nulls,
    is_encoded,
    joined,
    plain,
    plain_type,
    repeated,
    shown,
    spread,
    truths,
)

CHUNK = 65_536
"""Rows that are computed at a time: their columns stay in the processor's cache."""


@dataclass(frozen=True)
class Evaluator:
    """Computes expressions over batches; small, and it can be pickled.

    Attributes:
        program: what is computed.
    """

    program: Program

    def evaluate(self, batch: Any) -> list[Any]:
        """The results, an Arrow array each, over the rows that pass the conditions.

        Args:
            batch: columns in the order in which the program numbers them.

        Raises:
            KernelError: a value cannot be computed; condition and text are Spark's.
        """
        return self.begin(batch).results()

    def select(self, batch: Any, *, encoded: bool = False) -> tuple[list[Any], Any]:
        """The results over the rows that pass the conditions, and which rows these are.

        Args:
            batch: as in `evaluate`.
            encoded: whether results may be encoded strings.

        Returns:
            The results, and a boolean array over the batch's rows; None: all rows pass.
        """
        computation = self.begin(batch)
        return computation.results(encoded=encoded), computation.kept

    def begin(self, batch: Any) -> Computation:
        """The program over a batch; nothing is computed before it is asked for."""
        words, steps = _Words(batch.num_rows), self.program.steps
        parts = (_Rows(steps, part, part.num_rows, words) for part in _chunks(batch))
        return Computation(self.program, [_Part(rows, self.program.conditions) for rows in parts])


class Computation:
    """What is computed of a batch: results at different times, each step once.

    Args:
        program: what is computed.
        parts: the rows.
    """

    def __init__(self, program: Program, parts: Sequence[_Part]) -> None:
        self._program = program
        self._parts = parts

    def results(
        self, start: int = 0, end: int | None = None, *, encoded: bool = False
    ) -> list[Any]:
        """Some of the program's results over the rows that pass its conditions.

        Args:
            start, end: the first one, and the first behind them; None: all of the rest.
            encoded: whether they may be encoded strings.

        Raises:
            KernelError: a value cannot be computed.
        """
        places = self._program.results[start:end]
        parts = [part.results(places, encoded=encoded) for part in self._parts]
        return parts[0] if len(parts) == 1 else list(map(joined, zip(*parts, strict=True)))

    @property
    def count(self) -> int:
        """How many rows pass the conditions."""
        return sum(part.passing[0].count for part in self._parts)

    @property
    def kept(self) -> Any:
        """Which rows pass the conditions, a boolean array; None: all do."""
        passing = [part.passing for part in self._parts]
        if all(kept is None for _, kept in passing):
            return None
        return pa.concat_arrays(
            [pa.repeat(True, rows.count) if kept is None else kept for rows, kept in passing]
        )

    def where(self, mask: Any) -> Computation:
        """The same of those rows alone, of the ones that pass, for which a mask is true."""
        parts, start = [], 0
        for part in self._parts:
            rows, _ = part.passing
            own = truths(mask.slice(start, rows.count))
            start += rows.count
            parts.append(_Part(rows.where(own), ()))
        return Computation(self._program, parts)


@dataclass
class _Part:
    """Some rows of a batch, and what they have to pass."""

    rows: _Rows
    conditions: tuple[int, ...]

    @cached_property
    def passing(self) -> tuple[_Rows, Any]:
        """The rows that pass, and which these are; None: all."""
        rows, kept = self.rows, None
        for condition in self.conditions:
            passed = truths(repeated(rows.value(condition), rows.count))
            if passed.false_count:
                rows = rows.where(passed)
                kept = passed if kept is None else truths(spread(passed, kept))
        return rows, kept

    def results(self, places: Sequence[int], *, encoded: bool) -> list[Any]:
        """What steps give, an array each."""
        rows, _ = self.passing
        value = rows.encoded if encoded else rows.value
        return [shown(repeated(value(place), rows.count), rows.kind(place)) for place in places]


def _chunks(batch: Any) -> Iterable[Any]:
    if batch.num_rows <= CHUNK:
        return [batch]
    return (batch.slice(start, CHUNK) for start in range(0, batch.num_rows, CHUNK))


@dataclass
class _Words:
    """What steps give for the words of encoded columns: once for all rows of a batch.

    Attributes:
        most: the rows of the batch; nothing is computed for more words.
        known: what is computed, by step.
    """

    most: int
    known: dict[int, Value] = field(default_factory=dict)


class _Rows:
    """Some rows of a batch, and what is known of them, each step once."""

    def __init__(
        self,
        steps: tuple[Step, ...],
        batch: Any,
        count: int,
        words: _Words,
        upper: _Rows | None = None,
        mask: Any = None,
    ) -> None:
        self._steps = steps
        self._batch = batch
        self._words = words
        self._upper = upper
        self._mask = mask
        self._known: dict[int, Value] = {}
        self._decoded: dict[int, Value] = {}
        self.count = count

    def kind(self, place: int) -> Kind:
        """The type of what a step gives."""
        return self._steps[place].kind

    def where(self, mask: Any) -> _Rows:
        """The rows where a boolean array without nulls is true."""
        return _Rows(self._steps, None, mask.true_count, self._words, self, mask)

    def value(self, place: int) -> Value:
        """What a step gives, as values of its type."""
        found = self._decoded.get(place)
        if found is None:
            found = self._decoded[place] = decoded(self.encoded(place))
        return found

    def encoded(self, place: int) -> Value:
        """What a step gives; strings may be encoded."""
        found = self._known.get(place)
        if found is None:
            found = self._inherited(place)
            if found is None:
                found = self._computed(place)
            self._known[place] = found
        return found

    def _inherited(self, place: int) -> Value | None:
        """What more rows know of it already."""
        if self._upper is None:
            return None
        is_column = self._steps[place].name in ("column", "parameter")
        known = self._upper.encoded(place) if is_column else self._upper.known(place)
        if known is None or isinstance(known, pa.Scalar):
            return known
        return known.filter(self._mask)

    def known(self, place: int) -> Value | None:
        """What a step gave, if it was computed."""
        return self._known.get(place)

    def _computed(self, place: int) -> Value:
        step = self._steps[place]
        match step.name:
            case "column":
                assert isinstance(step.options[0], int)
                return plain(self._batch.column(step.options[0]), step.kind)
            case "parameter":
                assert isinstance(step.options[0], int)
                return self._batch[step.options[0]]
            case "literal":
                return constant(step)
            case "and" | "or":
                return self._logic(step)
            case "if" | "case":
                return self._case(step, step.inputs)
            case "coalesce":
                return self._first(step)
        if step.options and isinstance(step.options[0], Program):
            return self._with_lambdas(step)
        if self._has_null_constant(step):
            return pa.nulls(self.count, plain_type(step.kind))
        given = None if step.raises else self._of_words(place, step)
        return OPERATIONS[step.name](step, *self._inputs(step)) if given is None else given

    def _has_null_constant(self, step: Step) -> bool:
        """Whether an argument that has to be a constant is null: then the result is."""
        known = KNOWN.get(step.name)
        if known is None or known.eager or known.raises == "always":
            return False
        return any(
            self._steps[place].options == (None,) and _is_constant(known, i)
            for i, place in enumerate(step.inputs)
            if self._steps[place].name == "literal"
        )

    def _of_words(self, place: int, step: Step) -> Value | None:
        """What a step gives, computed once for each word of the only column that it takes."""
        values = [self.encoded(place) for place in step.inputs]
        columns = [value for value in values if not isinstance(value, pa.Scalar)]
        if len(columns) != 1 or not is_encoded(columns[0]):
            return None
        words, numbers = columns[0].dictionary, columns[0].indices
        if len(words) > self._words.most:
            return None
        given = self._words.known.get(place)
        if given is None:
            of_words = (words if value is columns[0] else value for value in values)
            given = self._words.known[place] = OPERATIONS[step.name](step, *of_words)
        if isinstance(given, pa.Scalar):
            return given
        if step.kind == "string":
            return pa.DictionaryArray.from_arrays(numbers, given)
        return given.take(numbers)

    def _inputs(self, step: Step) -> list[Value]:
        """The inputs of a step, each computed only where Spark computes it."""
        places = step.inputs
        known = KNOWN.get(step.name)
        lazy = known is not None and not known.eager
        order = range(len(places))
        found: dict[int, Value] = {}
        for i in reversed(order) if known is not None and known.right_first else order:
            value = None
            if lazy and found and self._steps[places[i]].raises:
                # Without ANSI a dividend is left alone where the divisor is 0, as where it is null.
                skips_zero = known is not None and known.right_first and step.mode != "ANSI"
                needed = (
                    [_null_if_zero(v) for v in found.values()] if skips_zero else found.values()
                )
                valid = self._all_valid(needed)
                value = None if valid is None else self.only_where(valid, places[i])
            found[i] = self.value(places[i]) if value is None else value
        values = [found[i] for i in order]
        if values and all(isinstance(value, pa.Scalar) for value in values):
            # Of constants alone: Arrow's and numpy's functions work on columns. What must stay a
            # constant does: an operation has one argument at least that need not be one.
            column = next(i for i in order if not _is_constant(known, i))
            values[column] = repeated(values[column], self.count)
        return values

    def _with_lambdas(self, step: Step) -> Any:
        """A function with lambdas, over its arguments and what the lambdas capture."""
        known, given = HIGHER_ORDER[step.name], list[Value]()
        places, captured = step.inputs[: len(step.kinds)], step.inputs[len(step.kinds) :]
        for place in places:
            valid = self._all_valid(given) if self._steps[place].raises else None
            found = self.value(place) if valid is None else self.only_where(valid, place)
            given.append(repeated(found, self.count))
        others = [self.value(place) for place in captured]
        programs = (option for option in step.options if isinstance(option, Program))
        return known(step, *(Lambda(program, others) for program in programs), *given)

    def _all_valid(self, values: Iterable[Value]) -> Any:
        """Where none of some values is null; None: everywhere."""
        masks = [
            repeated(
                v.is_valid() if not isinstance(v, pa.Scalar) else pa.scalar(v.is_valid), self.count
            )
            for v in values
            if has_nulls(v)
        ]
        if not masks:
            return None
        mask = masks[0]
        for other in masks[1:]:
            mask = pc.and_(mask, other)
        return mask

    def only_where(self, mask: Any, place: int) -> Value:
        """What a step gives where a mask is true; elsewhere null, or what it gives there."""
        if not self._steps[place].raises or not mask.false_count:
            return self.value(place)
        if not mask.true_count:
            return pa.scalar(None, plain_type(self._steps[place].kind))
        part = self.where(mask).value(place)
        return part if isinstance(part, pa.Scalar) else spread(part, mask)

    def _logic(self, step: Step) -> Any:
        left = repeated(self.value(step.inputs[0]), self.count)
        # What decides the result alone: false for AND, true for OR.
        if step.name == "and":
            needed = truths(left, null=True)
            return pc.and_kleene(left, self.only_where(needed, step.inputs[1]))
        needed = pc.invert(truths(left))
        return pc.or_kleene(left, self.only_where(needed, step.inputs[1]))

    def _case(self, step: Step, inputs: tuple[int, ...]) -> Any:
        """Inputs are condition, value, condition, value, ..., otherwise."""
        raising = any(self._steps[place].raises for place in inputs)
        left = pa.repeat(True, self.count) if raising else None
        branches = []
        for condition, value in zip(inputs[:-1:2], inputs[1:-1:2], strict=True):
            if left is None:
                chosen = repeated(self.value(condition), self.count)
                branches.append((truths(chosen), self.value(value)))
                continue
            chosen = truths(repeated(self.only_where(left, condition), self.count))
            chosen = pc.and_(chosen, left)
            left = pc.and_not(left, chosen)
            branches.append((chosen, self.only_where(chosen, value)))
        rest = inputs[-1]
        result = self.value(rest) if left is None else self.only_where(left, rest)
        for chosen, value in reversed(branches):
            result = pc.if_else(chosen, value, result)
        return result

    def _first(self, step: Step) -> Any:
        result = repeated(self.value(step.inputs[0]), self.count)
        for place in step.inputs[1:]:
            if not result.null_count:
                break
            result = pc.coalesce(result, self.only_where(pc.is_null(result), place))
        return result


@dataclass(frozen=True)
class Lambda:
    """A lambda over many sets of arguments at once.

    Attributes:
        program: what it computes; its steps `parameter` are its parameters, then what it captures.
        captured: the values of what it captures, of each row.
    """

    program: Program
    captured: list[Value]

    def __call__(self, rows: Positions, *parameters: Value) -> Any:
        """What it gives, an array.

        Args:
            rows: the row to which each set of arguments belongs.
            parameters: the arguments, a column each.
        """
        parts = [
            self._chunk(rows[start : start + CHUNK], [p[start : start + CHUNK] for p in parameters])
            for start in range(0, len(rows), CHUNK)
        ]
        if not parts:
            return pa.array([], plain_type(self.program.kind))
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    def _chunk(self, rows: Positions, parameters: list[Value]) -> Any:
        places = pa.array(rows)
        given = [v if isinstance(v, pa.Scalar) else v.take(places) for v in self.captured]
        known = _Rows(self.program.steps, [*parameters, *given], len(rows), _Words(0))
        return repeated(known.value(self.program.results[0]), len(rows))


def _null_if_zero(value: Value) -> Value:
    zero = pa.scalar(0, value.type)
    return pc.if_else(pc.equal(value, zero), pa.scalar(None, value.type), value)


def _is_constant(known: Any, argument: int) -> bool:
    """Whether all signatures take a constant there."""
    if known is None:
        return False
    return all(
        signature[min(argument, len(signature) - 1)].startswith("=")
        for signature in known.signatures
        if argument < len(signature) or known.variadic
    )
