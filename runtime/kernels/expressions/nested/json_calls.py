"""`from_json` and `get_json_object`: of a field or path, or of several that are read at once.

Those that are read at once (programs/json_once.py) are asked for of different rows: a text of which
one of them is not known is refused only where that one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import NOT_EXACT, KernelError
from ...json.support import path_steps
from ...json.times import TimeTexts
from ..programs.json_once import PARTS, UNIQUE, formats_of
from ..programs.program import Kind, Step
from ..values.vectors import Value, plain, plain_type, shown_type
from .json_reading import read_paths, read_texts

Read = Callable[[Any], Any]
"""What is read of some texts: a column."""


def from_json(step: Step, text: Any) -> Any:
    """`from_json` to a struct, an array or a map, in PERMISSIVE mode."""

    def of_kind(kind: Kind) -> Read:
        unique = UNIQUE in step.options
        wanted = shown_type(kind)
        times = TimeTexts(step.zone, *formats_of(step))
        return lambda texts: plain(read_texts(texts, wanted, times, unique=unique), kind)

    def of_field(name: str, kind: Kind) -> Read:
        read = of_kind(("struct", (name,), (kind,)))
        return lambda texts: pc.struct_field(read(texts), [0])

    whole = of_kind(step.kind)
    if PARTS not in step.options:
        return whole(text)
    parts = [of_field(*field) for field in zip(step.kind[1], step.kind[2], strict=True)]
    return _at_once(step, text, whole, parts)


def json_value(step: Step, text: Any, path: Value | None = None) -> Any:
    """`get_json_object` at a constant path of names and indexes.

    Without a path, a struct of what is at several, which are the step's options.
    """
    if path is not None:
        return read_paths(text, [path_steps(path.as_py()) or ()])[0]
    paths = [path_steps(one) or () for one in step.options]

    def whole(texts: Any) -> Any:
        return pa.StructArray.from_arrays(
            read_paths(texts, paths), fields=list(plain_type(step.kind))
        )

    def of_path(one: Sequence[str | int]) -> Read:
        return lambda texts: read_paths(texts, [one])[0]

    return _at_once(step, text, whole, list(map(of_path, paths)))


def refuse_unknown(step: Step, value: Any, place: int) -> None:
    """Refuse a field of what is read at once where it is not known what Spark makes of it.

    Raises:
        KernelError: so it is in some row (`STATEPLAN_NOT_EXACT`).
    """
    count = len(step.kinds[0][1])
    if value.type.num_fields > count:
        reasons = pc.struct_field(value, [count + place]).drop_null()
        if len(reasons):
            raise KernelError(NOT_EXACT, reasons[0].as_py())


def _at_once(step: Step, text: Any, whole: Read, parts: Sequence[Read]) -> Any:
    """A struct; where some of its fields are not known, with the reasons for it behind them."""
    try:
        return whole(text)
    except KernelError as error:
        if error.condition != NOT_EXACT:
            raise
    values, reasons = zip(*(_known(text, read) for read in parts), strict=True)
    fields = [pa.field(f"reason {place}", pa.string()) for place in range(len(parts))]
    return pa.StructArray.from_arrays([*values, *reasons], fields=[*plain_type(step.kind), *fields])


def _known(text: Any, read: Read) -> tuple[Any, Any]:
    """What is read of texts, and the reason for each of which it is not known."""
    try:
        return read(text), pa.nulls(len(text), pa.string())
    except KernelError as error:
        if error.condition != NOT_EXACT:
            raise
        if len(text) == 1:
            return read(pa.nulls(1, pa.string())), pa.array([error.message])
    middle = len(text) // 2
    halves = _known(text[:middle], read), _known(text[middle:], read)
    values, reasons = zip(*halves, strict=True)
    return pa.concat_arrays(values), pa.concat_arrays(reasons)
