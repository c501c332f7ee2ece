"""How a program is computed over rows: each step once, a column at a time.

A step that may fail is computed only for the rows for which Spark computes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.words import combinations, numbers_of
from ..errors import KernelError
from .nested.lambdas import HIGHER_ORDER, Positions
from .operations import OPERATIONS
from .programs.program import Kind, Program, Step, can_stop
from .programs.supported import OPERATIONS as KNOWN
from .values.choices import CommonWords
from .values.constants import constant
from .values.vectors import (
    Value,
    decoded,
    has_nulls,
    is_encoded,
    plain,
    plain_type,
    repeated,
    spread,
    truths,
)

CHUNK = 65_536
"""Rows that are computed at a time: their columns stay in the processor's cache."""
_ROWS_A_COMBINATION = 4
"""With fewer rows for each combination of words these are computed row by row."""


@dataclass
class Words:
    """What steps give for the words of encoded columns, or for combinations: once for all rows.

    Attributes:
        most: the rows of the batch; nothing is computed for more words.
        known: what is computed, by step; None: it cannot be computed for one of the words.
        common: the words of all that a step may choose, by step; None: it chooses no words.
    """

    most: int
    known: dict[int, Value | None] = field(default_factory=dict)
    common: dict[int, CommonWords | None] = field(default_factory=dict)


class Rows:
    """Some rows of a batch, and what is known of them, each step once."""

    def __init__(
        self,
        steps: tuple[Step, ...],
        batch: Any,
        count: int,
        words: Words,
        upper: Rows | None = None,
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

    def can_stop(self, place: int) -> bool:
        """Whether a step, computed for rows for which Spark leaves it out, can stop a query."""
        return can_stop(self._steps, place)

    def where(self, mask: Any) -> Rows:
        """The rows where a boolean array without nulls is true."""
        return Rows(self._steps, None, mask.true_count, self._words, self, mask)

    def value(self, place: int) -> Value:
        """What a step gives, as values of its type."""
        found = self._decoded.get(place)
        if found is None:
            found = self._decoded[place] = decoded(self.encoded(place))
        return found

    def encoded(self, place: int) -> Value:
        """What a step gives; strings may be encoded, and lists."""
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
                return self._case(place, step)
            case "coalesce":
                return self._first(place, step)
        if step.options and isinstance(step.options[0], Program):
            return self._with_lambdas(step)
        if self._has_null_constant(step):
            return pa.nulls(self.count, plain_type(step.kind))
        given = self._of_words(place, step)
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
        """What a step gives, computed once for each word of the only column that it takes.

        Of several columns for each combination of their words, if these are few. None where it
        fails for a word: perhaps no row has that, so it is computed row by row.
        """
        if step.raises and sum(self._steps[i].name != "literal" for i in step.inputs) > 1:
            return None  # what one input gives may say that another one is not computed
        values = [self.encoded(place) for place in step.inputs]
        columns = [value for value in values if not isinstance(value, pa.Scalar)]
        if not columns or not all(map(is_encoded, columns)):
            return None
        rows_each = 1 if len(columns) == 1 else _ROWS_A_COMBINATION
        if math.prod(len(column.dictionary) for column in columns) * rows_each > self._words.most:
            return None
        if place not in self._words.known:
            words = iter(combinations([column.dictionary for column in columns]))
            of_words = (value if isinstance(value, pa.Scalar) else next(words) for value in values)
            try:
                found = OPERATIONS[step.name](step, *of_words)
            except KernelError:
                found = None
            if step.kind == "string" and isinstance(found, pa.Array):
                found = found.dictionary_encode(null_encoding="encode")  # some may be the same
            self._words.known[place] = found
        given = self._words.known[place]
        if given is None or isinstance(given, pa.Scalar):
            return given
        numbers = pa.array(numbers_of(columns))
        if step.kind[0] == "array":
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

    def _case(self, place: int, step: Step) -> Any:
        """Inputs are condition, value, condition, value, ..., otherwise."""
        inputs = step.inputs
        raising = any(self._steps[i].raises for i in inputs)
        left = pa.repeat(True, self.count) if raising else None
        masks, values = [], []
        for condition, value in zip(inputs[:-1:2], inputs[1:-1:2], strict=True):
            if left is None:
                chosen = truths(repeated(self.value(condition), self.count))
            else:
                chosen = truths(repeated(self.only_where(left, condition), self.count))
                chosen = pc.and_(chosen, left)
                left = pc.and_not(left, chosen)
            masks.append(chosen)
            values.append(self._choice(chosen, value))
        values.append(self._choice(left, inputs[-1]))
        words = None
        if not any(self._steps[i].raises for i in step.chosen):
            words = self._common_words(place, step, values)
        result, *others = reversed(
            list(map(decoded, values)) if words is None else words.numbers(values)
        )
        for chosen, value in zip(reversed(masks), others, strict=True):
            result = pc.if_else(chosen, value, result)
        return result if words is None else words.column(result)

    def _choice(self, mask: Any, place: int) -> Value:
        """What a step gives where a mask is true, or wherever it cannot fail; see `encoded`."""
        return self.only_where(mask, place) if self._steps[place].raises else self.encoded(place)

    def _common_words(self, place: int, step: Step, values: Sequence[Value]) -> CommonWords | None:
        """The words of all that a step may choose, the same for all rows of a batch; None: it
        chooses no words."""
        if step.kind != "string":
            return None
        if place not in self._words.common:
            self._words.common[place] = CommonWords.of(values, self._words.most)
        return self._words.common[place]

    def _first(self, place: int, step: Step) -> Any:
        first = self.encoded(step.inputs[0])
        if is_encoded(first) and not any(self._steps[i].raises for i in step.inputs[1:]):
            if not first.dictionary.null_count:
                return first
            values = [first, *map(self.encoded, step.inputs[1:])]
            words = self._common_words(place, step, values)
            if words is not None:
                return words.first(values)
        result = repeated(decoded(first), self.count)
        for other in step.inputs[1:]:
            if not result.null_count:
                break
            result = pc.coalesce(result, self.only_where(pc.is_null(result), other))
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
        known = Rows(self.program.steps, [*parameters, *given], len(rows), Words(0))
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
