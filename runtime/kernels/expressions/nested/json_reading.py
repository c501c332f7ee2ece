"""`from_json`: texts as structs, lists and maps, as JacksonParser reads them in PERMISSIVE mode.

And what `get_json_object` finds at a path: a struct with one field for a name, a list for an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.ordering import list_parts
from ...columns.texts import bytes_of, concatenated
from ...errors import unread_text
from ...json.blocks import UNLIKE, BlockReader
from ...json.conversion import Unlike
from ...json.errors import Uncertain
from ...json.lines import LineReader
from ...json.times import TimeTexts

_ROOT = "value"
"""The name of what is no struct, in a struct of it."""
_FEW = 64  # texts that are read one by one where Arrow does not read them
_PARTS = 4
_FAILURES = 8
"""After so many blocks in a row that Arrow does not read, it is not asked again."""


def read_texts(texts: Any, kind: Any, times: TimeTexts, *, unique: bool = False) -> Any:
    """Structs, lists or maps of texts: null for null, and for a text without a value.

    Args:
        texts: an array of strings.
        kind: the Arrow type of the results.
        times: how strings are read as dates and times.
        unique: whether a name that is read must not stand twice.

    Raises:
        KernelError: a text of which it is not known what Spark makes of it
            (`STATEPLAN_NOT_EXACT`).
    """
    is_struct = pa.types.is_struct(kind)
    wanted = kind if is_struct else pa.struct([(_ROOT, kind)])
    reader = _Texts(wanted, times, unique=unique, root=None if is_struct else kind)
    parts = list(reader.structs(texts))
    found = pa.concat_arrays(parts) if parts else pa.array([], wanted)
    return found if is_struct else pc.struct_field(found, [0])


def read_paths(texts: Any, paths: Sequence[Sequence[str | int]]) -> list[Any]:
    """The strings at paths of names and indexes in texts, a column each; null where there is none.

    Raises:
        KernelError: as `read_texts`.
    """
    found: dict[int, Any] = {}
    left = list(range(len(paths)))
    while left:  # what is a string for one path is none for another that goes on there
        tree: _Tree = {}
        taken = [place for place in left if _grows(tree, paths[place])]
        reader = _Texts(_kind(tree), TimeTexts("UTC"), by_path=True)
        parts = list(reader.structs(texts))
        for place in taken:
            ends = [_at(part, paths[place]) for part in parts]
            found[place] = pa.concat_arrays(ends) if ends else pa.array([], pa.string())
        left = [place for place in left if place not in found]
    return [found[place] for place in range(len(paths))]


_Tree = dict[str | None, "_Tree"]
"""Where paths lead: names, None for all elements of a list; an end has none."""


def _grows(tree: _Tree, path: Sequence[str | int]) -> bool:
    """Whether a tree takes in a path: no other one ends on its way, nor goes on behind it."""
    steps = [step if isinstance(step, str) else None for step in path]
    at = tree
    for number, step in enumerate(steps):
        if step not in at:
            if at is not tree and not at:
                return False
            if at and (None in at or step is None):
                return False  # it would be a list and a struct
            for rest in steps[number:]:
                at = at.setdefault(rest, {})
            return True
        at = at[step]
    return not at


def _kind(tree: _Tree) -> Any:
    """The type in which values lie at a tree's ends."""
    if not tree:
        return pa.string()
    if None in tree:
        return pa.list_(_kind(tree[None]))
    return pa.struct([(name, _kind(below)) for name, below in tree.items()])


def _at(values: Any, path: Sequence[str | int]) -> Any:
    """The texts at a path in structs and lists; a null in a list is the text `null`."""
    for step in path:
        if isinstance(step, str):
            values = pc.struct_field(values, [step])
            continue
        parts, starts, lengths = list_parts(values)
        has = lengths > step
        values = parts.take(pa.array(np.where(has, starts + step, 0), mask=~has))
    if isinstance(path[-1], str):
        return values
    return pc.if_else(pc.and_(pa.array(has), values.is_null()), "null", values)


class _Texts:
    """Reads texts: many at once, those that are odd one by one.

    Args:
        kind: the type of the structs.
        times: how strings are read as dates and times.
        by_path, unique: see `LineReader`.
        root: the type of the values, where they are no structs but the only field of one.
    """

    def __init__(
        self,
        kind: Any,
        times: TimeTexts,
        *,
        by_path: bool = False,
        unique: bool = False,
        root: Any = None,
    ) -> None:
        self._kind = kind
        self._root = root
        self._name = "get_json_object" if by_path else "from_json"
        self._lines = LineReader(
            list(kind), "PERMISSIVE", times, "", copied=True, by_path=by_path, unique=unique
        )
        self._blocks = BlockReader(pa.schema(list(kind)), self._lines, times, copied=True)
        self._failures = 0

    def structs(self, texts: Any) -> Iterator[Any]:
        """The structs of texts, part by part."""
        if not len(texts):
            return
        if self._blocks.whole and self._failures < _FAILURES:
            found = self._at_once(texts)
            if found is not None:
                self._failures = 0
                yield found
                return
            self._failures += 1
            if len(texts) > _FEW:
                size = -(-len(texts) // _PARTS)
                for start in range(0, len(texts), size):
                    yield from self.structs(texts.slice(start, size))
                return
        yield self._one_by_one(texts)

    def _at_once(self, texts: Any) -> Any | None:
        try:
            block = _block(texts, rooted=self._root is not None)
            found = self._blocks.as_block(block)
        except UNLIKE:
            return None
        if len(found.lines) != len(texts) + 1:
            return None
        whole = self._structs(found.columns, texts.is_null().to_numpy(zero_copy_only=False))
        if not len(found.odd):
            return whole
        places = np.arange(len(texts))
        places[found.odd] = np.arange(len(texts), len(texts) + len(found.odd))
        again = self._one_by_one(texts.take(pa.array(found.odd)))
        return pa.concat_arrays([whole, again]).take(pa.array(places))

    def _one_by_one(self, texts: Any) -> Any:
        try:
            rows = [
                None if text is None else self._lines.record(text, self._root)
                for text in texts.to_pylist()
            ]
        except Uncertain as error:
            raise unread_text(self._name, error) from None
        nothing = (None,) * len(self._kind)
        values = zip(*(nothing if row is None else row for row in rows), strict=True)
        columns = [pa.array(list(v), f.type) for v, f in zip(values, self._kind, strict=True)]
        return self._structs(columns, np.array([row is None for row in rows], np.bool_))

    def _structs(self, columns: list[Any], missing: Any) -> Any:
        fields = [field.with_nullable(True) for field in self._kind]
        mask = pa.array(missing) if missing.any() else None
        return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)


def _block(texts: Any, *, rooted: bool) -> Any:
    """Texts as lines, one behind the other: the bytes of all; `{}` for null.

    Raises:
        one of UNLIKE: they are too long, or have ends of lines.
    """
    if rooted:
        lines = concatenated(f'{{"{_ROOT}":', texts, "}\n").fill_null("{}\n")
    else:
        lines = concatenated(texts.fill_null("{}"), "\n")
    letters = bytes_of(lines)[0]
    if (letters == ord("\r")).any() or (letters == 0).any():
        raise Unlike
    return letters
