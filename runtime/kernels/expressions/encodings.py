"""Texts of bytes, and URLs: `decode`, `unbase64`, `url_decode`, `parse_url`."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

import pyarrow as pa

from ..errors import KernelError, not_exact
from . import messages
from .accepting import URL_PARTS
from .program import Step
from .texts import each
from .vectors import Value


def decoded(step: Step, value: Any, charset: Value) -> Any:
    """`decode(bytes, 'UTF-8')`."""
    try:
        return value.cast(pa.string())
    except pa.ArrowInvalid:
        raise messages.malformed_characters(step, charset.as_py()) from None


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
                raise messages.cannot_decode_url(step, one)
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
                raise messages.invalid_url(step, one)
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
