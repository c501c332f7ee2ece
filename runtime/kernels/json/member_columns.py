"""Columns that are made of the texts of members of JSON lines.

Maps, as Arrow's reader knows no names that are not in a schema; and strings where values are none:
numbers, which are taken as they stand or written anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.texts import bytes_of, concatenated, ends_of
from ..expressions.values.java_numbers import shown_floats
from .conversion import Positions
from .members import IN_NUMBER, Marks, Members, Texts

ReadValues = Callable[[Any, Any], tuple[Any, Positions]]
"""Reads a block of objects with a member `value` of a type: these values, and the odd lines."""


class MemberColumns:
    """Columns of a block.

    Args:
        letters: its bytes; Arrow has read it.
        lines: where each line begins, and the end of the last.
        copied: whether a string is written anew of a value that is none: see `struct_reader`.
        read: reads values that are no strings.

    Attributes:
        odd: lines that have to be read one by one.
    """

    def __init__(self, letters: Any, lines: Positions, *, copied: bool, read: ReadValues) -> None:
        escaped = np.unique(
            np.searchsorted(lines, np.flatnonzero(letters == ord("\\")), "right") - 1
        )
        self.odd: list[Positions] = []
        if len(escaped):
            self.odd.append(escaped)
            left_out = np.zeros(len(lines) - 1, np.bool_)
            left_out[escaped] = True
            letters = np.where(np.repeat(left_out, np.diff(lines)), np.uint8(ord(" ")), letters)
        self._marks = Marks(letters, lines)
        self._count = len(lines) - 1
        self._members = self._marks.members(1)
        self._copied, self._read = copied, read

    def column(self, name: str, kind: Any) -> Any:
        """The values of a field.

        Args:
            name: the field's.
            kind: its type, strings or a map of strings.

        Raises:
            one of UNLIKE: nothing is known of its values.
        """
        own = self._members.names.equal_to(name)
        times = np.bincount(self._members.lines[own], minlength=self._count)
        self.odd.append(np.flatnonzero(times > 1))
        return self._maps(own, kind) if pa.types.is_map(kind) else self._texts(own)

    def _texts(self, own: Positions) -> Any:
        """The values of some members as strings, of lines without one null."""
        entries = _some(self._members, own)
        places = np.full(self._count, -1)
        places[entries.lines] = np.arange(len(own))
        return self._strings(entries).take(pa.array(places, mask=places < 0))

    def _maps(self, own: Positions, kind: Any) -> Any:
        """The values of some members as maps."""
        lines, first = self._members.lines[own], self._members.values.first()[own]
        is_map = first == ord("{")
        self.odd.append(lines[~is_map & (first != ord("n"))])
        deeper = self._marks.members(2)
        counts = np.diff(np.append(np.searchsorted(deeper.at, self._members.at), len(deeper.at)))
        parents = np.repeat(np.arange(len(counts)), counts)
        chosen = np.zeros(len(self._members.at), np.bool_)
        chosen[own[is_map]] = True
        entries = _some(deeper, np.flatnonzero(chosen.take(parents)))
        keys = entries.names.array()
        self.odd.append(_with_repeats(entries.lines, keys))
        items = self._items(entries, kind.item_type)
        present = np.zeros(self._count, np.bool_)
        present[lines[is_map]] = True
        ends = ends_of(np.bincount(entries.lines, minlength=self._count)).astype(np.int32)
        pairs = pa.StructArray.from_arrays(
            [keys, items], fields=[kind.key_field, kind.item_field.with_type(items.type)]
        )
        validity = pa.array(present).buffers()[1]
        buffers = [validity, pa.py_buffer(ends)]
        return pa.Array.from_buffers(kind, self._count, buffers, children=[pairs])

    def _items(self, entries: Members, kind: Any) -> Any:
        if pa.types.is_string(kind):
            return self._strings(entries)
        if not len(entries.at):
            return pa.array([], kind)
        texts = concatenated('{"value":', entries.values.array(), "}\n")
        items, odd = self._read(texts, kind)
        self.odd.append(entries.lines[odd])
        return items

    def _strings(self, entries: Members) -> Any:
        """Strings; numbers, true and false as they stand, or as Jackson writes them."""
        values, first = entries.values, entries.values.first()
        quoted = first == ord('"')
        inner = Texts(values.letters, values.starts + quoted, values.ends - quoted)
        texts = inner.array(first == ord("n"))
        if not self._copied:
            return texts
        for chosen, anew in (
            (IN_NUMBER[first], _numbers_anew),
            ((first == ord("{")) | (first == ord("[")), _parts_anew),
        ):
            if chosen.any():
                written, odd = anew(texts.filter(pa.array(chosen)))
                texts = pc.replace_with_mask(texts, pa.array(chosen), written)
                self.odd.append(entries.lines[chosen][odd])
        return texts


def _numbers_anew(texts: Any) -> tuple[Any, Any]:
    """Numbers as Jackson writes them, and which of them it may write otherwise."""
    broken = pc.match_substring_regex(texts, "[.eE]")
    texts = pc.if_else(pc.equal(texts, "-0"), "0", texts)
    if not broken.true_count:
        return texts, np.zeros(len(texts), np.bool_)
    floats = pc.if_else(broken, texts, None).cast(pa.float64())
    odd = broken.to_numpy(zero_copy_only=False) & ~np.isfinite(
        floats.to_numpy(zero_copy_only=False)
    )
    return pc.coalesce(shown_floats(floats), texts), odd


def _parts_anew(texts: Any) -> tuple[Any, Any]:
    """Objects and arrays without blanks, and which Jackson writes otherwise.

    Those are such with other numbers than it writes, and with letters that it escapes.
    """
    block, ends = bytes_of(concatenated(texts, "\n"))
    letters, lines = Marks(block, ends.astype(np.int64)).without_blanks()
    odd = np.zeros(len(texts), np.bool_)
    marks = Marks(letters, lines)
    numbers = marks.numbers()
    shown = numbers.array()
    anew, unsure = _numbers_anew(shown)
    odd[marks.lines_of(np.flatnonzero(letters >= 0xF0))] = True
    other = unsure | pc.not_equal(anew, shown).to_numpy(zero_copy_only=False)
    odd[marks.lines_of(numbers.starts[other])] = True
    return Texts(letters, lines[:-1], lines[1:] - 1).array(), odd


def _some(members: Members, own: Positions) -> Members:
    return Members(
        members.lines.take(own), members.at.take(own), members.names.at(own), members.values.at(own)
    )


def _with_repeats(lines: Positions, keys: Any) -> Positions:
    """The lines in which a key stands twice."""
    codes = keys.dictionary_encode()
    count = max(1, len(codes.dictionary))
    pairs: Positions = np.sort(lines * count + codes.indices.to_numpy())
    repeated: Positions = pairs[1:][pairs[1:] == pairs[:-1]] // count
    return repeated
