"""String functions: by code points, as Spark's UTF8String counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.distinct import each
from ...columns.lists import elements_of, lists_of, rows_of
from ...columns.ordering import valid
from ...columns.texts import bytes_of, concatenated, cut, ends_of, of_bytes
from ..programs.program import Step
from ..values import messages
from ..values.vectors import Value, nulled, numbers, repeated, row_count

_MAX = 2**31 - 1
_WILDCARDS = {"%": ".*", "_": "."}


def binary_digits(step: Step, value: Any) -> Any:
    """`bin`: the digits of a number in two's complement, without leading zeros."""
    bits = np.unpackbits(numbers(value).astype(">i8").view(np.uint8)).reshape(-1, 64)
    shown = np.logical_or.accumulate(bits, axis=1)
    shown[:, -1] = True  # of 0, too, one digit is shown
    digits = bits[shown] + np.uint8(ord("0"))
    return nulled(of_bytes(digits, ends_of(shown.sum(axis=1))), value)


def character(step: Step, value: Any) -> Any:
    """`chr`: the letter of a number's lowest eight bits; of a negative number none."""
    data = numbers(value)
    letters = pa.array([*map(chr, range(256)), ""])
    return nulled(letters.take(pa.array(np.where(data < 0, 256, data & 255))), value)


def chosen(step: Step, number: Value, *texts: Value) -> Any:
    """`elt(number, text, ...)`: the text of that number, from 1.

    Raises:
        KernelError: under ANSI there is no such text; else it is null.
    """
    count = row_count(number, *texts)
    numbered = repeated(number, count)
    places = numbers(numbered)
    given = numbered.is_valid().to_numpy(zero_copy_only=False)
    there = given & (places >= 1) & (places <= len(texts))
    missing = given & ~there
    if step.mode == "ANSI" and missing.any():
        wrong = int(places[int(np.argmax(missing))])
        raise messages.error(step, "INVALID_ARRAY_INDEX", indexValue=wrong, arraySize=len(texts))
    picks = pa.array(np.where(there, places - 1, 0), mask=~there)
    return pc.choose(picks, *(repeated(text, count) for text in texts))


def cased(step: Step, text: Any) -> Any:
    """`upper` and `lower`: a whole column at once, unless many letters have mappings of their own.

    A letter that Arrow maps in another way than Spark is replaced beforehand.
    """
    upper = step.name == "upper"
    if _is_ascii(text):
        return (pc.ascii_upper if upper else pc.ascii_lower)(text)
    simple = _maps_simply(upper)
    function, arrow = (_upper, pc.utf8_upper) if upper else (_lower, pc.utf8_lower)
    own = {chr(letter): function(chr(letter)) for letter in _letters(text) if not simple(letter)}
    stay = all(arrow(pa.scalar(mapped)).as_py() == mapped for mapped in own.values())
    if stay and len(own) <= _FEW and (upper or "Σ" not in own):
        for letter, mapped in own.items():
            text = pc.replace_substring(text, letter, mapped)
        return arrow(text)
    found = (pc.ascii_upper if upper else pc.ascii_lower)(text)
    others = pc.invert(pc.fill_null(pc.string_is_ascii(text), True))
    return pc.replace_with_mask(found, others, each(text.filter(others), function, pa.string()))


def words_capitalized(step: Step, text: Any) -> Any:
    """`initcap`: small letters, but a capital where a word begins; blanks divide words."""
    others = pc.invert(pc.fill_null(pc.string_is_ascii(text), True))
    found = _ascii_words(pc.if_else(others, "", text) if others.true_count else text)
    if not others.true_count:
        return found
    return pc.replace_with_mask(found, others, each(text.filter(others), _capitalized, pa.string()))


def _ascii_words(text: Any) -> Any:
    letters, ends = bytes_of(pc.ascii_lower(text))
    letters = letters.copy()
    begins = np.zeros(len(letters) + 1, np.bool_)
    begins[1:] = letters == ord(" ")
    begins[ends] = True
    begins = begins[:-1] & (letters >= ord("a")) & (letters <= ord("z"))
    letters[begins] -= 32
    return nulled(of_bytes(letters, ends), text)


def _capitalized(text: str) -> str:
    pairs = zip(text.split(" "), _lower(text).split(" "), strict=True)
    return " ".join(w[:1].title() + small[len(_lower(w[:1])) :] for w, small in pairs)


def _letters(text: Any) -> list[int]:
    """The code points in a column beyond ASCII, each once."""
    own, _ = bytes_of(text)
    # All bytes of such a letter, and only they, have the highest bit.
    letters = own[own >= 0x80].tobytes().decode("utf-8", "replace")
    seen = np.zeros(0x110000, np.bool_)
    seen[np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), np.uint32)] = True
    found: list[int] = np.flatnonzero(seen).tolist()
    return found


@cache
def _maps_simply(upper: bool) -> Callable[[int], bool]:
    """Whether Arrow, which maps letter by letter, has Spark's mapping of a code point."""
    function, arrow = (_upper, pc.utf8_upper) if upper else (_lower, pc.utf8_lower)

    @cache
    def simple(point: int) -> bool:
        letter = chr(point)
        if letter == "Σ" and not upper:
            return False  # at the end of a word it has another small letter
        return bool(arrow(pa.scalar(letter)).as_py() == function(letter))

    return simple


_FEW = 12  # letters: each is a pass over the column


_NEWER = (
    *((0x19B, 0xA7DC), (0x264, 0xA7CB), (0x1C8A, 0x1C89), (0xA7CD, 0xA7CC), (0xA7CF, 0xA7CE)),
    *((0xA7D3, 0xA7D2), (0xA7D5, 0xA7D4), (0xA7DB, 0xA7DA)),
    *((0x10D70 + i, 0x10D50 + i) for i in range(22)),
    *((0x16EBB + i, 0x16EA0 + i) for i in range(25)),
)
"""Small and capital letters of Unicode 15 to 17, which Spark's ICU knows and Python may not."""
_TO_UPPER = dict(_NEWER)
_TO_LOWER = {capital: small for small, capital in _NEWER}


def _upper(text: str) -> str:
    return text.upper().translate(_TO_UPPER)


def _lower(text: str) -> str:
    return text.lower().translate(_TO_LOWER)


def _is_ascii(text: Any) -> bool:
    return not (bytes_of(text)[0].view(np.int8) < 0).any()


def length(step: Step, text: Any) -> Any:
    """`length`: code points of a string, bytes of a binary, binary digits of a number."""
    if step.kinds[0] == "bigint":
        return nulled(pa.array(_binary_digits(numbers(text))), text)
    found = pc.utf8_length(text) if step.kinds[0] == "string" else pc.binary_length(text)
    return found.cast(pa.int32())


def _binary_digits(values: Any) -> Any:
    """How many digits `bin` shows of 64-bit numbers."""
    bits = np.asarray(values).view(np.uint64)
    high, low = (half.astype(np.float64) for half in (bits >> 32, bits & 0xFFFFFFFF))
    # The exponent of a number that a double holds exactly is how many digits it has.
    digits = np.where(high > 0, 32 + np.frexp(high)[1], np.frexp(low)[1])
    return np.maximum(digits, 1).astype(np.int32)


def octets(step: Step, text: Any) -> Any:
    """`octet_length` and `bit_length`."""
    found = pc.binary_length(text)
    return found if step.name == "octet_length" else pc.multiply(found, pa.scalar(8, pa.int32()))


def substring(step: Step, text: Any, start: Value, size: Value) -> Any:
    """`substring(text, start, size)`, of a string or of bytes: counts from 1, or from the end."""
    if not isinstance(start, pa.Scalar) or not isinstance(size, pa.Scalar):
        return _substrings(repeated(text, row_count(text, start, size)), start, size)
    first, count = start.as_py(), size.as_py()
    if first is None or count is None:
        return pa.nulls(len(text), text.type)
    if pa.types.is_binary(text.type):  # Arrow's slices of bytes fail for some places from the end
        return _substrings(text, start, size)
    if count <= 0:
        return pc.if_else(pc.is_valid(text), pa.scalar("", text.type), text)
    begin = first - 1 if first > 0 else first
    end = begin + count
    stop = None if (begin < 0 <= end) or end > _MAX else end
    return pc.utf8_slice_codeunits(text, begin, stop)


def _substrings(text: Any, start: Value, size: Value) -> Any:
    """Of each text so many letters, or of bytes so many, from a place of its own."""
    letters, ends = bytes_of(text)
    is_binary = pa.types.is_binary(text.type)
    is_first = np.full(len(letters), True) if is_binary else (letters & 0xC0) != 0x80
    begins = np.append(np.flatnonzero(is_first), len(letters))
    # Where the letters of a text begin in the column.
    bounds = np.searchsorted(begins, ends)
    count, before = np.diff(bounds), bounds[:-1]
    wanted, places = numbers(size).astype(np.int64), numbers(start).astype(np.int64)
    first = np.where(places > 0, places - 1, np.where(places < 0, count + places, 0))
    last = np.clip(first + np.maximum(wanted, 0), 0, count)
    first = np.minimum(np.clip(first, 0, count), last)
    low, high = begins[before + first], begins[before + last]
    return nulled(cut(letters, low, high).view(text.type), text, start, size)


def overlaid(step: Step, text: Value, put: Value, place: Value, size: Value) -> Any:
    """`overlay(text, put, place, size)` with constants: a size below 0 is that of what is put."""
    count = row_count(text, put)
    text, put, start = repeated(text, count), repeated(put, count), place.as_py()
    long = size.as_py()
    behind = start + (numbers(length(step, put)) if long < 0 else np.full(count, long))
    before = substring(step, text, pa.scalar(1), pa.scalar(start - 1))
    rest = _substrings(text, pa.array(behind.astype(np.int32)), pa.scalar(_MAX, pa.int32()))
    return concatenated(before, put, rest)


def concat(step: Step, *texts: Value) -> Any:
    """`concat`: null if any is."""
    return concatenated(*texts)


def concat_ws(step: Step, separator: Value, *texts: Value) -> Any:
    """`concat_ws` with a constant separator, of strings and lists: nulls are left out."""
    between = separator.as_py()
    count = row_count(*texts)
    if between is None:
        return pa.nulls(count, pa.string())
    columns = [_one_text(between, repeated(text, count)) for text in texts]
    parts = [pc.fill_null(concatenated(between, column), "") for column in columns]
    # Each text has the separator in front, the first too.
    joined = concatenated(*parts)
    return pc.utf8_slice_codeunits(joined, len(between)) if between else joined


def _one_text(between: str, column: Any) -> Any:
    """The strings of each list joined, null where there is none; strings as they are."""
    if not pa.types.is_list(column.type):
        return column
    elements, lengths = elements_of(column)
    known = valid(elements)
    counts = np.bincount(rows_of(lengths)[known], minlength=len(column))
    lists = lists_of(elements.filter(pa.array(known)), counts, missing=counts == 0)
    return pc.binary_join(lists, between)


def trimmed(step: Step, text: Any, characters: Value | None = None) -> Any:
    """`trim`, `ltrim`, `rtrim`: of blanks or of any of some constant characters."""
    chosen = " " if characters is None else characters.as_py()
    if not chosen:
        return text
    functions = {"trim": pc.utf8_trim, "ltrim": pc.utf8_ltrim, "rtrim": pc.utf8_rtrim}
    return functions[step.name](text, characters=chosen)


def like(step: Step, text: Any, pattern: Value) -> Any:
    """`LIKE` with a constant pattern."""
    escape = str(step.options[0]) if step.options else "\\"
    rest = iter(pattern.as_py())
    parts = (
        _quoted(next(rest)) if sign == escape else _WILDCARDS.get(sign) or _quoted(sign)
        for sign in rest
    )
    return pc.match_substring_regex(text, rf"(?s)\A{''.join(parts)}\z")


def _quoted(character: str) -> str:
    return re.escape(character) if character.isascii() else character


def replaced(step: Step, text: Any, search: Value, by: Value) -> Any:
    """`replace(text, search, by)` with constants."""
    wanted, instead = search.as_py(), by.as_py()
    return pc.replace_substring(text, wanted, instead) if wanted else text


def position(step: Step, text: Any, part: Value) -> Any:
    """`instr(text, part)` of a constant: counts code points from 1; 0: it is not there."""
    wanted = part.as_py()
    if not wanted:
        return pc.if_else(pc.is_valid(text), pa.scalar(1, pa.int32()), pa.scalar(None, pa.int32()))
    place = pc.find_substring(text, wanted)
    if not _is_ascii(text):
        content, ends = bytes_of(text)
        found = numbers(place)
        before = cut(content, ends[:-1], ends[:-1] + np.maximum(found, 0))
        place = pc.if_else(pa.array(found < 0), place, pc.utf8_length(before))
        place = nulled(place, text)
    return pc.add(place, pa.scalar(1, pa.int32()))


def part_up_to(step: Step, text: Any, mark: Value, count: Value) -> Any:
    """`substring_index(text, mark, count)` with constants.

    What is before the mark of that number; of a negative number, counted from the end, what is
    after it. All of a text that has fewer marks.
    """
    wanted, number = mark.as_py(), count.as_py()
    if not wanted or not number:
        return pc.if_else(pc.is_valid(text), "", text)
    content, ends = bytes_of(text)
    most = min(abs(number), int(np.diff(ends).max(initial=0)) + 1)  # Arrow makes room for so many
    pieces = pc.split_pattern(text, wanted, max_splits=most, reverse=number < 0)
    parts, lengths = elements_of(pieces)
    begin, end = ends[:-1].astype(np.int64), ends[1:].astype(np.int64)
    cut_off = np.flatnonzero(lengths > abs(number))
    first = (np.cumsum(lengths) - lengths)[cut_off]
    beside = first if number < 0 else first + lengths[cut_off] - 1
    size = numbers(pc.binary_length(parts.take(pa.array(beside)))) + len(wanted.encode())
    if number < 0:
        begin[cut_off] += size
    else:
        end[cut_off] -= size
    missing = None if not text.null_count else ~valid(text)
    return cut(content, begin, end, missing)


def padded(step: Step, text: Any, size: Value, fill: Value) -> Any:
    """`lpad` and `rpad` with constants: cut, or filled, to a number of code points."""
    width, characters = size.as_py(), fill.as_py()
    if width <= 0:
        return pc.if_else(pc.is_valid(text), pa.scalar("", text.type), text)
    short = pc.utf8_slice_codeunits(text, 0, width)
    if not characters:
        return short
    if len(characters) == 1:
        pad = pc.utf8_lpad if step.name == "lpad" else pc.utf8_rpad
        return pad(short, width, padding=characters)

    def filled(value: str) -> str:
        filling: str = (characters * width)[: width - len(value)]
        return filling + value if step.name == "lpad" else value + filling

    return each(short, filled, pa.string())
