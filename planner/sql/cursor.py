"""Spark's words over sqlglot's token cursor.

The parsers of this package stand on each other: cursor, forms, calls, primary expressions,
expressions, queries. Each overrides what sqlglot reads as a union of many dialects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokens import TokenType

from .context import invalid_identifier

Node = Any  # sqlglot carries no types here
STRINGS = (TokenType.STRING, TokenType.RAW_STRING)
NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
# A word that ends an expression where a name without AS may follow.
STOP_WORDS = frozenset(
    {"FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "UNION", "EXCEPT",
     "INTERSECT", "MINUS", "SETMINUS", "WINDOW", "LATERAL", "CLUSTER", "DISTRIBUTE", "SORT",
     "JOIN", "ON", "USING", "CROSS", "INNER", "LEFT", "RIGHT", "FULL", "NATURAL", "SEMI", "ANTI",
     "PIVOT", "UNPIVOT", "TABLESAMPLE", "WATERMARK"}
)  # fmt: skip


class TokenCursor(DatabricksParser):  # type: ignore[misc]
    """Steps over words, signs, names, strings and numbers."""

    def _word(self, *words: str) -> bool:
        """Whether the words come next, whatever their case; if so, step over them."""
        index = self._index
        for word in words:
            token = self._curr
            if token.token_type != TokenType.VAR or token.text.upper() != word:
                if self._index != index:
                    self._retreat(index)
                return False
            self._advance()
        return True

    def _ahead(self, *words: str) -> bool:
        """Whether the words come next; the cursor stays."""
        index = self._index
        found = self._word(*words)
        self._retreat(index)
        return found

    def _peek_word(self) -> str:
        """The next token's text in upper case if it is a word, else an empty string."""
        return self._curr.text.upper() if self._curr.token_type == TokenType.VAR else ""

    def _peek_type(self, offset: int) -> TokenType | None:
        index = self._index + offset
        return self._tokens[index].token_type if index < self._tokens_size else None

    def _expect_word(self, *words: str) -> None:
        if not self._word(*words):
            self.raise_error(f"Expected {' '.join(words)}")

    def _expect(self, token_type: TokenType) -> None:
        if not self._match(token_type):
            self.raise_error(f"Expected {token_type.name}")

    def _mark(self, start: int, node: Node) -> Node:
        """Note where the node starts in the text."""
        node.meta.setdefault("start", self._tokens[start].start)
        node.meta.setdefault("stop", self._prev.end)
        return node

    def _list(self, parse: Callable[[], Node]) -> list[Node]:
        found = [parse()]
        while self._match(TokenType.COMMA):
            found.append(parse())
        return found

    def _wrapped(self, parse: Callable[[], Node]) -> Node:
        self._expect(TokenType.L_PAREN)
        node = parse()
        self._expect(TokenType.R_PAREN)
        return node

    def _parse_name(self) -> Node:
        """A name, quoted or not."""
        token = self._curr
        if token.token_type not in NAMES:
            self.raise_error("Expected a name")
        self._advance()
        quoted = token.token_type == TokenType.IDENTIFIER
        return self._mark(self._index - 1, exp.Identifier(this=token.text, quoted=quoted))

    def _parse_plain_name(self) -> Node:
        """A name where no expression can follow: a hyphen behind it belongs to it.

        Raises:
            AnalysisError: INVALID_IDENTIFIER for `a-b` without quotes.
        """
        start = self._index
        name = self._parse_name()
        if self._curr.token_type == TokenType.DASH and self._peek_type(1) in NAMES:
            place = self._curr.start
            while self._curr.token_type == TokenType.DASH and self._peek_type(1) in NAMES:
                self._advance(2)
            written = "".join(token.text for token in self._tokens[start : self._index])
            raise invalid_identifier(written, self.sql, place)
        return name

    def _parse_qualified_name(self) -> Node:
        parts = [self._parse_plain_name()]
        while self._match(TokenType.DOT):
            parts.append(self._parse_plain_name())
        return exp.Tuple(expressions=parts)

    def _parse_string_literal(self, many: bool = False) -> Node:
        if self._curr.token_type not in STRINGS:
            self.raise_error("Expected a string")
        text = self._curr.text
        self._advance()
        while many and self._curr.token_type in STRINGS:
            text += self._curr.text
            self._advance()
        return exp.Literal.string(text)

    def _is_number(self, offset: int) -> bool:
        index = self._index + offset
        if index >= self._tokens_size:
            return False
        token = self._tokens[index]
        if token.token_type == TokenType.DOT:
            return self._is_fraction(index)
        if token.token_type == TokenType.NUMBER:
            return token.text[-1] not in "eE+-"  # `1e` is a name: no exponent follows
        return token.token_type == TokenType.VAR and _has_number_suffix(token.text)

    def _is_fraction(self, index: int) -> bool:
        """Whether `.5` stands there: sqlglot gives the point a token of its own."""
        if index + 1 >= self._tokens_size:
            return False
        point, digits = self._tokens[index], self._tokens[index + 1]
        if point.end + 1 != digits.start or not digits.text.isascii() or "." in digits.text:
            return False
        if digits.token_type == TokenType.VAR:
            return _has_number_suffix(f"0.{digits.text}")
        return bool(digits.token_type == TokenType.NUMBER)

    def _parse_number(self) -> Node:
        text = ""
        if self._match(TokenType.DASH):
            text = "-"
        if self._match(TokenType.DOT):
            text += "."
        text += self._curr.text
        self._advance()
        return exp.Literal(this=text, is_string=False)


def _has_number_suffix(text: str) -> bool:
    """Whether a word is a number with a type's suffix: `10L`, `1.2D`, `1e3BD`."""
    if not text[0].isdigit():
        return False
    upper = text.upper()
    suffix = "BD" if upper.endswith("BD") else upper[-1]
    if suffix not in ("L", "S", "Y", "D", "F", "BD"):
        return False
    body = upper[: -len(suffix)]
    if suffix in ("L", "S", "Y"):
        return body.isdigit()
    mantissa, _, exponent = body.partition("E")
    digits = mantissa.replace(".", "", 1)
    return digits.isdigit() and (not exponent or exponent.lstrip("+-").isdigit())
