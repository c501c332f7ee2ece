"""Spark's words and signs, read by sqlglot's tokenizer without its keywords.

Spark reserves no word by default: any may name a column. So the parser decides by its place
whether a word is a keyword.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Literal

from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

from ..model.frozen import dataclass

_SIGNS = ("/*+", "==", "::", "||", ">=", "<=", "<>", "!=", "<=>", "->", "=>")
_OWN_SIGNS = ("*/", "|>")  # the end of a hint, and the operator of pipes
_NUMBER = re.compile(r"(\d+(BD|[LSY])?|(\d+\.?\d*|\.\d+)(E[+-]?\d+)?(BD|[DF])?)", re.I | re.A)
# A quote or a comment that is not closed, where what is closed is stepped over.
_UNCLOSED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/|(?P<open>['"`]|/\*\+?)""",
    re.DOTALL,
)

_PIPED = frozenset(
    ("SELECT", "EXTEND", "SET", "DROP", "AS", "WHERE", "PIVOT", "UNPIVOT", "TABLESAMPLE", "INNER",
     "CROSS", "LEFT", "RIGHT", "FULL", "NATURAL", "SEMI", "ANTI", "ASOF", "JOIN", "UNION", "EXCEPT",
     "MINUS", "INTERSECT", "ORDER", "CLUSTER", "DISTRIBUTE", "SORT", "LIMIT", "OFFSET",
     "AGGREGATE", "WINDOW", "LATERAL", "BIN")
)  # fmt: skip

Kind = Literal["word", "quoted", "string", "number", "hint", "sign", "end"]
END_OF_INPUT = "end of input"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a name in quotes, a string, a number, a sign, or the end of the text.

    Attributes:
        text: what it means: a string or a quoted name without quotes and escapes.
        symbol: the keyword in capitals or the sign that it may be; else empty.
        start: where its first character stands.
        stop: where its last character stands.
    """

    kind: Kind
    text: str
    symbol: str
    start: int
    stop: int

    @property
    def is_name(self) -> bool:
        """Whether it can name something."""
        return self.kind in ("word", "quoted")


class _Tokenizer(Databricks.Tokenizer):  # type: ignore[misc]
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        sign: Databricks.Tokenizer.KEYWORDS[sign] for sign in _SIGNS
    } | dict.fromkeys(_OWN_SIGNS, TokenType.UNKNOWN)
    # Two quotes in a string stand for one.
    STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
    HEX_STRINGS: ClassVar[list[str]] = []  # X'1F' is read as the literals with a type's name
    # `10L` stays one word.
    NUMERIC_LITERALS: ClassVar[dict[str, str]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()
    # SELECT is a word like any other: without this `/*+` would begin a comment.
    TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = {TokenType.VAR}


class _NamesInDoubleQuotes(_Tokenizer):
    QUOTES: ClassVar[list[str]] = ["'"]
    IDENTIFIERS: ClassVar[list[str]] = ["`", '"']


_ESCAPE = re.compile(
    r"\\(?:u([0-9a-f]{4})|U([0-9a-f]{8})|([01][0-7]{2})|(.))".replace("a-f", "a-fA-F"), re.DOTALL
)
_NAMED_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_KEPT_ESCAPES = ("%", "_")  # LIKE reads them


def _unescaped(escape: re.Match[str]) -> str:
    if digits := escape[1] or escape[2]:
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF else ""
    if escape[3]:
        return chr(int(escape[3], 8))
    letter = escape[4]
    return escape[0] if letter in _KEPT_ESCAPES else _NAMED_ESCAPES.get(letter, letter)


def _string_value(written: str) -> str:
    """What a string means: Spark's escapes, which sqlglot reads otherwise from version to version.

    Args:
        written: the string with its quotes, and the `r` of a raw one.
    """
    if written[0] in "rR":
        return written[2:-1]
    quote = written[0]
    value = _ESCAPE.sub(_unescaped, written[1:-1].replace(quote * 2, quote))
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        pairs = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return pairs.replace("\ufffd", "?")
    return value


_KINDS: dict[TokenType, Kind] = {
    TokenType.VAR: "word",
    TokenType.IDENTIFIER: "quoted",
    TokenType.STRING: "string",
    TokenType.RAW_STRING: "string",
    TokenType.NUMBER: "number",
    TokenType.HINT: "hint",
}


@cache
def _dialect() -> Any:
    return Databricks()


def tokenize(text: str, *, double_quoted: bool = False) -> list[Token]:
    """The tokens of a text, without blanks and comments; the last is its end.

    The beginning of a quote or a comment that is not closed is a sign, which fits nowhere; what
    stands behind it is left out.

    Args:
        text: the query.
        double_quoted: double quotes are around names (`spark.sql.ansi.doubleQuotedIdentifiers`).
    """
    tokenizer = (_NamesInDoubleQuotes if double_quoted else _Tokenizer)(dialect=_dialect())
    size, begun = len(text), ""
    try:
        raw = tokenizer.tokenize(text)
        closed = "/*" not in text
    except TokenError:
        # Whatever sqlglot cannot read begins nothing of Spark's.
        raw, closed, begun = [], False, text.lstrip()[:1]
        size = len(text) - len(text.lstrip())
    if not closed:
        found = next((match for match in _UNCLOSED.finditer(text) if match["open"]), None)
        if found is not None:
            with suppress(TokenError):
                raw = tokenizer.tokenize(text[: found.start()])
                size, begun = found.start(), found["open"]
    tokens: list[Token] = []
    for token in raw:
        kind = _KINDS.get(token.token_type, "sign")
        if kind in ("word", "number"):
            _add_word(tokens, kind, token.text, token.start, token.end)
            continue
        written = text[token.start : token.end + 1]
        symbol = ""
        if kind == "string":
            written = _string_value(written)
        elif kind == "quoted":
            written = written[1:-1].replace(written[0] * 2, written[0])
        elif kind == "sign":
            symbol = written
        tokens.append(Token(kind, written, symbol, token.start, token.end))
    if begun:
        tokens.append(Token("sign", begun, begun, size, size + len(begun) - 1))
    tokens.append(Token("end", END_OF_INPUT, "", len(text), len(text)))
    return tokens


def with_pipes(tokens: list[Token]) -> list[Token]:
    """The tokens with `|` as `|>` before a word with which a pipe operator begins.

    So Spark reads it if `spark.sql.parser.singleCharacterPipeOperator.enabled` is set.
    """
    return [
        replace(token, symbol="|>")
        if token.symbol == "|" and tokens[index + 1].symbol in _PIPED
        else token
        for index, token in enumerate(tokens)
    ]


def _add_word(tokens: list[Token], kind: Kind, text: str, start: int, stop: int) -> None:
    """A word or a number; sqlglot gives the point of `.5` a token of its own."""
    if text[0].isdigit():
        whole = f".{text}"
        point = tokens[-1] if tokens else None
        if point is not None and point.symbol == "." and point.stop + 1 == start:
            before = tokens[-2] if len(tokens) > 1 else None
            field = before is not None and (before.is_name or before.symbol in (")", "]"))
            if not field and _NUMBER.fullmatch(whole):
                tokens[-1] = Token("number", whole, "", point.start, stop)
                return
        if _NUMBER.fullmatch(text):
            tokens.append(Token("number", text, "", start, stop))
            return
        # `1e` is a name: no exponent follows. `²` is nothing.
        kind = "word" if text[0].isascii() else "sign"
    tokens.append(Token(kind, text, text.upper(), start, stop))
