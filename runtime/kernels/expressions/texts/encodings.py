"""Texts of bytes, and URLs: `decode`, `base64`, `hex`, `url_decode`, `parse_url`."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.distinct import each
from ...columns.texts import bytes_of, ends_of, of_bytes
from ...errors import KernelError, not_exact
from ..programs.accepting_texts import URL_PARTS
from ..programs.program import Step
from ..values import messages
from ..values.vectors import Value, nulled, numbers


def encoded(step: Step, text: Any, charset: Value) -> Any:
    """`encode(text, 'UTF-8')`."""
    return text.cast(pa.binary())


def decoded(step: Step, value: Any, charset: Value) -> Any:
    """`decode(bytes, 'UTF-8')`."""
    try:
        return value.cast(pa.string())
    except pa.ArrowInvalid:
        raise messages.error(
            step, "MALFORMED_CHARACTER_CODING", function="`decode`", charset=charset.as_py()
        ) from None


_LINE = 76
_ZEROS = pa.array([b"", b"\0", b"\0\0"], pa.binary())


def in_base64(step: Step, value: Any) -> Any:
    """`base64(bytes)`: as MIME has it, in lines of 76 letters with `\\r\\n` between them."""
    missing = -numbers(pc.fill_null(pc.binary_length(value), 0)) % 3
    whole, ends = bytes_of(pc.binary_join_element_wise(value, _ZEROS.take(pa.array(missing)), b""))
    letters = np.frombuffer(base64.b64encode(whole.tobytes()), np.uint8).copy()
    ends = ends // 3 * 4
    last = ends[1:]
    letters[last[missing > 0] - 1] = letters[last[missing > 1] - 2] = ord("=")
    lines = np.maximum(-(-np.diff(ends) // _LINE), 1)
    if (lines == 1).all():
        return nulled(of_bytes(letters, ends), value)
    of_row = np.repeat(np.arange(len(lines)), lines)
    firsts = ends_of(lines)
    starts = ends[of_row] + _LINE * (np.arange(len(of_row)) - firsts[of_row])
    parts = of_bytes(letters, np.append(starts, ends[-1]))
    joined = pc.binary_join(pa.ListArray.from_arrays(firsts.astype(np.int32), parts), "\r\n")
    return nulled(joined, value)


_FOREIGN = re.compile(r"[^A-Za-z0-9+/=]")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def bytes_of_base64(step: Step, text: Any) -> Any:
    """`unbase64(text)`: of other letters nothing is taken, and padding may be missing."""

    def read(one: str) -> bytes:
        letters = _FOREIGN.sub("", one)
        if "=" not in letters and len(letters) % 4 != 1:
            letters += "=" * (-len(letters) % 4)
        if not _BASE64.fullmatch(letters):
            raise _refused("unbase64", one)
        return base64.b64decode(letters)

    return each(text, read, pa.binary())


def _refused(name: str, text: str) -> KernelError:
    return not_exact(f"{name} of '{text[:200]}' is not computed here as Spark does.", of_rows=True)


def hexadecimal(step: Step, value: Any) -> Any:
    """`hex` of a number, in two's complement without leading zeros, of a string or of bytes."""
    if step.kinds[0] == "bigint":
        words = numbers(value).astype(">i8").view(np.uint8).reshape(-1, 8)
        digits = _HEX[words].reshape(-1, 16)
        shown = np.logical_or.accumulate(digits != ord("0"), axis=1)
        shown[:, -1] = True  # of 0, too, one digit is shown
        sizes, letters = shown.sum(axis=1), digits[shown]
    else:
        own, ends = bytes_of(value)
        sizes, letters = np.diff(ends) * 2, _HEX[own].ravel()
    return nulled(of_bytes(letters, ends_of(sizes)), value)


def bytes_of_hexadecimal(step: Step, text: Any) -> Any:
    """`unhex(text)`: null where it has other letters; an odd digit in front is a byte."""

    def read(one: str) -> bytes | None:
        if not one.isascii() or not (one or "0").isalnum():
            return None
        try:
            return bytes.fromhex("0" + one if len(one) % 2 else one)
        except ValueError:
            return None

    return each(text, read, pa.binary())


_HEX = np.array([list(f"{byte:02X}".encode()) for byte in range(256)], np.uint8)
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST = (1 << 64) - 1


def in_base(step: Step, text: Any, source: Value, target: Value) -> Any:
    """`conv(text, from, to)` with constant bases: numbers of 64 bits, signed where `to` is < 0."""
    base, wanted = source.as_py(), target.as_py()
    if not (2 <= base <= 36 and 2 <= abs(wanted) <= 36):
        return pa.nulls(len(text), pa.string())

    def converted(one: str) -> str | None:
        one = one.strip(" ")
        if not one:
            return None
        negative, value = one[0] == "-", 0
        for letter in one[negative:]:
            digit = _DIGITS.find(letter.upper()) if letter.isascii() else -1
            if not 0 <= digit < base:
                break
            value = value * base + digit
            if value > _MOST:
                if step.mode == "ANSI":
                    raise messages.overflow(step, "Overflow in function conv()")
                value = _MOST
                break
        if negative and wanted > 0:
            value = _MOST if value >> 63 else -value & _MOST
        if wanted < 0 and value >> 63:
            negative, value = True, -value & _MOST
        sign = "-" if negative and wanted < 0 else ""
        return sign + _written(value, abs(wanted))

    return each(text, converted, pa.string())


def _written(value: int, base: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, base)
        digits = _DIGITS[digit] + digits
    return digits or "0"


# ------------------------------------------------------------------------------------------ URLs

_ESCAPE = re.compile(r"%(?:[0-9A-Fa-f]{2})?")
_ODD_ESCAPE = re.compile(r"%(?:[+-]|[0-9A-Fa-f]?[^\x00-\x7f])")


def url_text(step: Step, text: Any) -> Any:
    """`url_decode(text)` and `try_url_decode(text)`."""

    def read(one: str) -> str | None:
        if _ODD_ESCAPE.search(one):
            raise _refused(step.name, one)
        if any(len(found[0]) == 1 for found in _ESCAPE.finditer(one)):
            if step.name == "url_decode":
                raise messages.error(step, "CANNOT_DECODE_URL", url=one)
            return None
        try:
            return unquote_to_bytes(one.replace("+", " ")).decode()
        except UnicodeDecodeError:
            raise _refused(step.name, one) from None

    return each(text, read, pa.string())


_ILLEGAL = re.compile(r'[\x00-\x20"<>\\^`{|}\x7f]|%(?![0-9A-Fa-f]{2})')
"""What stands nowhere in a URL, to java.net.URI."""
_URL = re.compile(
    r"(?:(?P<PROTOCOL>[A-Za-z][A-Za-z0-9+.-]*):(?=/))?(?://(?P<AUTHORITY>[^/?#]*))?"
    r"(?P<FILE>(?P<PATH>(?:/[^?#\[\]]*|[^/?#\[\]:][^?#\[\]:]*)?)(?:\?(?P<QUERY>[^#]*))?)(?:#(?P<REF>[^#\[\]]*))?"
)
_SERVER = re.compile(
    r"(?:(?P<USERINFO>[A-Za-z0-9_.!~*'();:&=+$,%-]*)@)?"
    r"(?P<HOST>(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*"
    r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?|(?:[1-9]?[0-9]|1[0-9]{2})(?:\.(?:[1-9]?[0-9]|[12][0-9]{2})){3})(?::[0-9]{0,9})?"
)


def part_of_url(step: Step, text: Any, part: Value, key: Value | None = None) -> Any:
    """`parse_url(url, part, key)` with constants, as java.net.URI divides a URL with a path."""
    wanted, name = part.as_py(), None if key is None else key.as_py()
    in_query = None if name is None else re.compile(f"(?:&|^){name}=([^&]*)")

    def read(one: str) -> str | None:
        if _ILLEGAL.search(one):
            if step.mode == "ANSI" and step.name == "parse_url":
                raise messages.error(step, "INVALID_URL", url=one)
            return None
        parts = _parts(one)
        if parts is None:
            raise _refused(step.name, one)
        found = parts.get(wanted)
        if in_query is None or found is None:
            return found
        match = in_query.search(found)
        return match[1] if match else None

    return each(text, read, pa.string())


def _parts(url: str) -> Mapping[str, str | None] | None:
    """The parts of a URL; None: it is of another form than is divided here."""
    found = _URL.fullmatch(url) if url.isascii() else None
    if found is None or (found["AUTHORITY"] == "" and not found["PATH"]):
        return None
    parts: dict[str, str | None] = {**dict.fromkeys(URL_PARTS), **found.groupdict()}
    parts["AUTHORITY"] = parts["AUTHORITY"] or None
    if parts["AUTHORITY"] is not None:
        server = _SERVER.fullmatch(parts["AUTHORITY"])
        if server is None:
            return None
        parts.update(server.groupdict())
    return parts
