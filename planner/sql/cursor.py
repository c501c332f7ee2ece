"""A place among a text's tokens: steps over keywords, signs, names and strings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container
from typing import Any, NoReturn, TypeVar

from ..model.errors import AnalysisError
from ..model.expressions.core import Expression, Literal, Origin
from ..model.plans.query_plan import LogicalPlan
from ..model.schemas.types import NULL
from ..model.settings.conf import Conf
from .errors import fragment_error, invalid_identifier
from .tokens import Token

T = TypeVar("T")

JOIN_AND_SET_WORDS = frozenset(
    {"ANTI", "CROSS", "EXCEPT", "FULL", "INNER", "INTERSECT", "JOIN", "LATERAL", "LEFT", "MINUS",
     "NATURAL", "ON", "RIGHT", "SEMI", "SETMINUS", "UNION", "USING"}
)  # fmt: skip
"""The words that name no relation."""
QUERY_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
"""The words that a query begins with."""
CLAUSE_WORDS = JOIN_AND_SET_WORDS | {
    "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "WINDOW",
    "CLUSTER", "DISTRIBUTE", "SORT", "PIVOT", "UNPIVOT", "TABLESAMPLE", "WATERMARK",
}  # fmt: skip
"""The words that end an expression where a name without AS may follow."""


class Misfit(Exception):
    """The text leaves the grammar; the cursor knows where."""


class Cursor:
    """Reads a list of tokens from left to right.

    Args:
        text: the query.
        tokens: those of the text.
        conf: the settings that literals and casts depend on.
    """

    def __init__(self, text: str, tokens: list[Token], conf: Conf) -> None:
        self.text = text
        self.tokens = tokens
        self.conf = conf
        self.index = 0
        self.token = tokens[0]
        self.refusals: list[AnalysisError] = []
        """What Spark refuses of a text within the grammar: reported once the whole text is."""
        self.expected = ""
        self._lines = [0, *(i + 1 for i, letter in enumerate(text) if letter == "\n")]

    # -------------------------------------------------------------- what other parsers add to this

    def expression(self) -> Expression:
        """An expression without a name."""
        raise NotImplementedError

    def named_expression(self) -> Expression:
        """`e`, `e AS name`, `e name`, `e AS (a, b)`."""
        raise NotImplementedError

    def value(self) -> Expression:
        """An expression without AND, OR, NOT and predicates."""
        raise NotImplementedError

    def query(self) -> LogicalPlan:
        """A query with its WITH and its ORDER BY, LIMIT and OFFSET."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------- places

    @property
    def previous(self) -> Token:
        """The token before."""
        return self.tokens[self.index - 1]

    def peek(self, offset: int = 1) -> Token:
        """The token so many places on."""
        return self.tokens[min(self.index + offset, len(self.tokens) - 1)]

    def behind_bracket(self) -> Token:
        """The token behind the bracket that closes the one at `peek()`."""
        index, depth = self.index + 1, 0
        while self.tokens[index].kind != "end":
            symbol = self.tokens[index].symbol
            depth += (symbol == "(") - (symbol == ")")
            index += 1
            if not depth:
                break
        return self.tokens[index]

    def advance(self, count: int = 1) -> None:
        """Step over so many tokens."""
        self.move(self.index + count)

    def move(self, index: int) -> None:
        """Go to a token."""
        self.index = min(index, len(self.tokens) - 1)
        self.token = self.tokens[self.index]

    def attempt(self, read: Callable[[], T | None]) -> T | None:
        """What is read, or None with the cursor where it was if that finds another form there."""
        index, noted = self.index, len(self.refusals)
        found = read()
        if found is None:
            self.move(index)
            del self.refusals[noted:]
        return found

    def span(self, start: int, stop: int) -> Origin:
        """The origin of the text's characters from `start` to `stop`, that included."""
        line = bisect_right(self._lines, start)
        position = start - self._lines[line - 1]
        return Origin(line=line, position=position, start=start, stop=stop, source=self.text)

    def origin(self, index: int) -> Origin:
        """The origin of what stands from a token to the one before the cursor."""
        return self.span(self.tokens[index].start, self.tokens[self.index - 1].stop)

    def fail(self, expected: str) -> NoReturn:
        """The token that comes next fits nothing.

        Args:
            expected: what would.
        """
        self.expected = expected
        raise Misfit

    def refuse(self, error: AnalysisError) -> Literal:
        """Note what Spark says once the whole text is read; NULL stands for what it is about."""
        self.refusals.append(error)
        return Literal(value=None, type_=NULL)

    def refuse_at(self, condition: str, origin: Origin, /, **parameters: Any) -> Literal:
        """The same for an error about a fragment of the query."""
        return self.refuse(fragment_error(condition, origin, **parameters))

    def built(self, build: Callable[[], Expression]) -> Expression:
        """What is built, or NULL with the error noted that building it raised."""
        try:
            return build()
        except AnalysisError as error:
            return self.refuse(error)

    # ------------------------------------------------------------------------- keywords and signs

    def ahead(self, *symbols: str) -> bool:
        """Whether these keywords and signs come next."""
        if self.token.symbol != symbols[0]:
            return False
        return all(self.peek(i).symbol == s for i, s in enumerate(symbols[1:], start=1))

    def take(self, *symbols: str) -> bool:
        """Step over these keywords and signs if they come next."""
        found = self.ahead(*symbols)
        if found:
            self.move(self.index + len(symbols))
        return found

    def take_one(self, symbols: Container[str]) -> str:
        """Step over one of these if it comes next; empty if none does."""
        symbol = self.token.symbol
        if not symbol or symbol not in symbols:
            return ""
        self.advance()
        return symbol

    def need(self, *symbols: str) -> None:
        """Step over these keywords and signs; nothing else may come next."""
        for symbol in symbols:
            if not self.take(symbol):
                self.fail(symbol if symbol.isalpha() else f"'{symbol}'")

    def listed(self, read: Callable[[], T]) -> list[T]:
        """One or more of something with commas between them."""
        found = [read()]
        while self.take(","):
            found.append(read())
        return found

    def bracketed(self, read: Callable[[], T]) -> T:
        """Something in parentheses."""
        self.need("(")
        found = read()
        self.need(")")
        return found

    def bracketed_list(self, read: Callable[[], T]) -> list[T]:
        """`(a, b)`."""
        return self.bracketed(lambda: self.listed(read))

    def optional_list(self, read: Callable[[], T]) -> list[T]:
        """`(a, b)` or `()`."""
        if self.take("(", ")"):
            return []
        return self.bracketed_list(read)

    # --------------------------------------------------------------------------- names and strings

    def name(self) -> str:
        """A name, quoted or not.

        Raises:
            AnalysisError: INVALID_IDENTIFIER for a foreign letter without quotes.
        """
        token = self.token
        if not token.is_name:
            self.fail("a name")
        if token.kind == "word" and not token.text.isascii():
            raise invalid_identifier(token.text, self.text, token.start)
        self.advance()
        return token.text

    def plain_name(self) -> str:
        """A name where no expression can follow: a hyphen behind it belongs to it.

        Raises:
            AnalysisError: INVALID_IDENTIFIER for `a-b` without quotes.
        """
        start = self.index
        name = self.name()
        if self.token.symbol == "-" and self.peek().is_name:
            place = self.token.start
            while self.token.symbol == "-" and self.peek().is_name:
                self.advance(2)
            written = "".join(token.text for token in self.tokens[start : self.index])
            raise invalid_identifier(written, self.text, place)
        return name

    def qualified_name(self) -> tuple[str, ...]:
        """Names with dots between them."""
        parts = [self.plain_name()]
        while self.take("."):
            parts.append(self.plain_name())
        return tuple(parts)

    def names(self) -> list[str]:
        """`a` or `(a, b)`."""
        return self.bracketed_list(self.name) if self.token.symbol == "(" else [self.name()]

    def is_alias(self, keywords: Container[str] = CLAUSE_WORDS) -> bool:
        """Whether a name comes next that may stand without AS."""
        token = self.token
        return token.is_name and (not token.symbol or token.symbol not in keywords)

    def string(self) -> str:
        """A string without its quotes."""
        token = self.token
        if token.kind != "string":
            self.fail("a string")
        self.advance()
        return token.text
