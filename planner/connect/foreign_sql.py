"""SQL texts of files that run elsewhere: names that are not here, and Databricks' table functions.

A text is changed before it is read: a placeholder in a name, `?conf.catalog?.sales.orders`, is
quoted; a function in FROM that Spark has not, such as `read_files('/in', format => 'csv')`, is the
name of a table that the catalog describes or that is guessed.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from ..model import registry
from ..model.errors import StateplanError
from ..model.schemas.ddl import parse_schema
from ..model.text.quoting import to_sql_id
from ..sql.tokens import Token, tokenize
from .names import name_parts
from .protocol import PLACEHOLDER

if TYPE_CHECKING:
    from .session import PlannerSession

_MARK = 0xE000  # of Unicode's private use: stands for a placeholder while a text is changed
_MARKED = re.compile("[\ue000-\uf8ff]")
_PART = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<other>`[^`]*`|--[^\n]*|/\*.*?\*/)"""
    "|(?P<name>[\\w.]*[\ue000-\uf8ff][\\w.\ue000-\uf8ff]*)",
    re.DOTALL,
)
_BEFORE = ("FROM", "JOIN", "STREAM")
_OF_SPARK = ("RANGE", "IDENTIFIER", "VALUES", "LATERAL", "TABLE", "STREAM")
_OF_FILES = ("read_files", "cloud_files")


def readable(session: PlannerSession, text: str) -> str:
    """The text with names that Spark's grammar takes; what a function says of columns is kept."""
    text = _with_quoted_names(text)
    if not re.search(r"\b(?:FROM|JOIN)\s+(?:STREAM\b\s*\(?\s*)?\w+\s*\(", text, re.IGNORECASE):
        return text
    tokens = tokenize(text)
    for place in reversed(range(1, len(tokens) - 1)):
        end = _call_of_table(tokens, place)
        if end is None:
            continue
        name = _table(session, tokens[place:end])
        # `cloud_files` is a stream by itself.
        of_stream = tokens[place].text.lower() == "cloud_files" and not _in_stream(tokens, place)
        start, stop = tokens[place].start, tokens[end].stop + 1
        text = f"{text[:start]}{'STREAM ' if of_stream else ''}{to_sql_id((name,))}{text[stop:]}"
    return text


def _with_quoted_names(text: str) -> str:
    found: list[str] = list(dict.fromkeys(PLACEHOLDER.findall(text)))
    if not found:
        return text
    for number, placeholder in enumerate(found):
        text = text.replace(placeholder, chr(_MARK + number))

    def given(part: str, quote: str = "") -> str:
        def placeholder(mark: re.Match[str]) -> str:
            full: str = found[ord(mark[0]) - _MARK]
            return full.replace(quote, f"\\{quote}") if quote else full

        return _MARKED.sub(placeholder, part)

    def change(part: re.Match[str]) -> str:
        if part["name"]:
            return to_sql_id(name_parts(given(part["name"])))
        return given(part[0], part[0][0] if part["text"] else "")

    return _PART.sub(change, text)


def _in_stream(tokens: list[Token], place: int) -> bool:
    before = tokens[place - 1]
    if before.symbol == "(" and place > 1:
        before = tokens[place - 2]
    return before.symbol == "STREAM"


def _call_of_table(tokens: list[Token], place: int) -> int | None:
    """Where a call in FROM ends, if Spark does not know its function."""
    token = tokens[place]
    called = token.kind == "word" and tokens[place + 1].symbol == "("
    placed = tokens[place - 1].symbol in _BEFORE or _in_stream(tokens, place)
    known = token.symbol in _OF_SPARK or registry.find(token.text.lower()) is not None
    if not called or not placed or known:
        return None
    depth = 0
    for end in range(place + 1, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[end].symbol, 0)
        if not depth:
            return end
    return None


def _table(session: PlannerSession, call: list[Token]) -> str:
    """The name of the table that a call is taken for: a directory's, or the call's own."""
    function = call[0].text.lower()
    first = next((one.text for one in call if one.kind == "string"), "")
    name = first if function in _OF_FILES and first else f"{function}({first})"
    for word, sign, value in zip(call, call[1:], call[2:], strict=False):
        declares = word.text.lower() == "schema" and sign.symbol == "=>" and value.kind == "string"
        if declares and "?" not in value.text and not session.knows(name):
            with suppress(StateplanError):
                session.add_table(name, parse_schema(value.text), "delta")
    return name
