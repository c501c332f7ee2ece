"""The words of one SQL statement, read from left to right."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..model.errors import AnalysisError
from ..sql.errors import marked
from ..sql.tokens import END_OF_INPUT, Token, tokenize

_UNSET = re.compile(r"\$\{([\w.]+)\}")


class StatementCursor:
    """A place in a statement.

    Args:
        text: the statement, with what stands before it in its file blanked out, so that places in
            messages are those in the statement.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)[:-1]
        self.place = 0

    @property
    def at_end(self) -> bool:
        """Whether all words are read."""
        return self.place >= len(self.tokens)

    @property
    def token(self) -> Token | None:
        """The next word."""
        return None if self.at_end else self.tokens[self.place]

    def looks_at(self, *words: str) -> bool:
        """Whether these words come next."""
        found = self.tokens[self.place : self.place + len(words)]
        return [token.symbol for token in found] == list(words)

    def takes(self, *words: str) -> bool:
        """Go behind these words if they come next."""
        if not self.looks_at(*words):
            return False
        self.place += len(words)
        return True

    def needs(self, *words: str) -> None:
        """Go behind these words.

        Raises:
            AnalysisError: PARSE_SYNTAX_ERROR; others come next.
        """
        for word in words:
            if not self.takes(word):
                raise self.misfit()

    def misfit(self, more: str = "") -> AnalysisError:
        """The error at the next word, as Spark's parser words it."""
        token = self.token
        near = END_OF_INPUT if token is None else f"'{self.text[token.start : token.stop + 1]}'"
        start = len(self.text.rstrip()) if token is None else token.start
        unset = dict.fromkeys(_UNSET.findall(self.text)) if near == "'$'" else ()
        error = AnalysisError.of(
            "PARSE_SYNTAX_ERROR",
            hint=" ".join(f"Set {key}: --conf {key}=VALUE." for key in unset)
            or "Write the statement as Spark's guide to Declarative Pipelines does.",
            error=near,
            hint_=more,
        )
        error.message = f"\n{error.message} {marked(self.text, start)}\n"
        return error

    def name(self) -> tuple[str, ...]:
        """A name of one or more parts."""
        parts = [self._part()]
        while self.takes("."):
            parts.append(self._part())
        return tuple(parts)

    def _part(self) -> str:
        token = self.token
        if token is None or not token.is_name:
            raise self.misfit()
        self.place += 1
        return token.text

    def names(self) -> tuple[str, ...]:
        """`(a, b)`: names of columns, each as it is written."""
        self.needs("(")
        found = [".".join(self.name())]
        while self.takes(","):
            found.append(".".join(self.name()))
        self.needs(")")
        return tuple(found)

    def string(self) -> str:
        """A text in quotes."""
        token = self.token
        if token is None or token.kind != "string":
            raise self.misfit()
        self.place += 1
        return token.text

    def bracket(self) -> str:
        """The text within the brackets that come next."""
        if not self.looks_at("("):
            raise self.misfit(": missing '('")
        start = self.tokens[self.place].start + 1
        depth = 0
        while (token := self.token) is not None:
            self.place += 1
            depth += {"(": 1, ")": -1}.get(token.symbol, 0)
            if depth == 0:
                return self.text[start : token.start]
        raise self.misfit(": missing ')'")

    def rest(self) -> str:
        """All that follows, as long as the text itself: what is read already is blanked out."""
        start = self.tokens[self.place].start if not self.at_end else len(self.text)
        self.place = len(self.tokens)
        return blanked(self.text, start) + self.text[start:]

    def until(self, stops: Callable[[StatementCursor], bool]) -> str:
        """The text up to a word at which `stops` is true, outside brackets; or to the end."""
        start = self.tokens[self.place].start if not self.at_end else len(self.text)
        depth = 0
        while (token := self.token) is not None and (depth or not stops(self)):
            depth += {"(": 1, ")": -1}.get(token.symbol, 0)
            self.place += 1
        token = self.token
        end = len(self.text) if token is None else token.start
        return self.text[start:end].strip()


def blanked(text: str, end: int) -> str:
    """Blanks for what comes before `end`; lines stay lines."""
    return "".join(letter if letter == "\n" else " " for letter in text[:end])
