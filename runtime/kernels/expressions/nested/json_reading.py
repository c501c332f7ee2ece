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
from ...errors import KernelError, not_exact
from ...json.errors import Uncertain
from ...json.files import UNLIKE, BlockReader
from ...json.lines import LineReader

_ROOT = "value"
"""The name of what is no struct, in a struct of it."""
_FEW = 64  # texts that are read one by one where Arrow does not read them
_PARTS = 4
_FAILURES = 8
"""After so many blocks in a row that Arrow does not read, it is not asked again."""


def read_texts(texts: Any, kind: Any, zone: str) -> Any:
    """Structs, lists or maps of texts: null for null, and for a text without a value.

    Args:
        texts: an array of strings.
        kind: the Arrow type of the results.
        zone: the session's time zone.

    Raises:
        KernelError: a text of which it is not known what Spark makes of it
            (`STATEPLAN_NOT_EXACT`).
    """
    is_struct = pa.types.is_struct(kind)
    wanted = kind if is_struct else pa.struct([(_ROOT, kind)])
    parts = list(_Texts(wanted, zone, root=None if is_struct else kind).structs(texts))
    found = pa.concat_arrays(parts) if parts else pa.array([], wanted)
    return found if is_struct else pc.struct_field(found, [0])


def read_path(texts: Any, path: Sequence[str | int]) -> Any:
    """The strings at a path of names and indexes in texts; null where there is none.

    Raises:
        KernelError: as `read_texts`.
    """
    if pc.any(pc.match_substring_regex(texts, "NaN|Infinity|INF")).as_py():
        raise _not_exact("get_json_object", "'NaN' or an infinity")
    for leaf in (pa.int64(), pa.string()):
        kind = leaf
        for step in reversed(path):
            kind = pa.struct([(step, kind)]) if isinstance(step, str) else pa.list_(kind)
        reader = _Texts(kind, "UTC", by_path=True)
        found = list(reader.structs(texts)) if leaf == pa.string() else reader.all_at_once(texts)
        if found is not None:
            whole = pa.concat_arrays(found) if found else pa.array([], kind)
            return _at(whole, path)
    raise AssertionError


def _at(values: Any, path: Sequence[str | int]) -> Any:
    """The texts at a path in structs and lists; a null in a list is the text `null`."""
    for step in path:
        if isinstance(step, str):
            values = pc.struct_field(values, [0])
            continue
        parts, starts, lengths = list_parts(values)
        has = lengths > step
        values = parts.take(pa.array(np.where(has, starts + step, 0), mask=~has))
    texts = values.cast(pa.string())
    if isinstance(path[-1], str):
        return texts
    return pc.if_else(pc.and_(pa.array(has), texts.is_null()), "null", texts)


def _not_exact(name: str, what: object) -> KernelError:
    return not_exact(f"A text that {name} takes has {what} and is not read as Spark would here.")


class _Texts:
    """Reads texts: many at once, those that are odd one by one.

    Args:
        kind: the type of the structs.
        zone: the session's time zone.
        by_path: see `LineReader`.
        root: the type of the values, where they are no structs but the only field of one.
    """

    def __init__(self, kind: Any, zone: str, *, by_path: bool = False, root: Any = None) -> None:
        self._kind = kind
        self._root = root
        self._name = "get_json_object" if by_path else "from_json"
        self._lines = LineReader(list(kind), "PERMISSIVE", zone, "", copied=True, by_path=by_path)
        self._blocks = BlockReader(pa.schema(list(kind)), self._lines, zone)
        self._failures = 0

    def all_at_once(self, texts: Any) -> list[Any] | None:
        """The structs of texts, if Arrow reads them."""
        found = self._at_once(texts) if len(texts) else None
        return None if found is None else [found]

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
        ends = pa.array([0, len(texts)], pa.int32())
        lines = texts
        if self._root is not None:
            lines = pc.binary_join_element_wise(f'{{"{_ROOT}":', texts, "}", "")
        whole = pa.ListArray.from_arrays(ends, lines.fill_null("{}"))
        block = pc.binary_join(whole, "\n")[0].as_py().encode() + b"\n"
        if b"\r" in block or b"\0" in block or block.count(b"\n") != len(texts):
            return None
        try:
            columns = self._blocks.as_block(block).columns
        except UNLIKE:
            return None
        return self._structs(columns, texts.is_null().to_numpy(zero_copy_only=False))

    def _one_by_one(self, texts: Any) -> Any:
        try:
            rows = [
                None if text is None else self._lines.record(text, self._root)
                for text in texts.to_pylist()
            ]
        except Uncertain as error:
            raise _not_exact(self._name, error) from None
        nothing = (None,) * len(self._kind)
        values = zip(*(nothing if row is None else row for row in rows), strict=True)
        columns = [pa.array(list(v), f.type) for v, f in zip(values, self._kind, strict=True)]
        return self._structs(columns, np.array([row is None for row in rows], np.bool_))

    def _structs(self, columns: list[Any], missing: Any) -> Any:
        fields = [field.with_nullable(True) for field in self._kind]
        mask = pa.array(missing) if missing.any() else None
        return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)
