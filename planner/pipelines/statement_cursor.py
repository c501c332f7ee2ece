"""The words of one SQL statement of a pipeline, read from left to right."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from ..model.errors import AnalysisError
from ..model.settings.conf import Conf
from ..sql.cursor import Cursor
from ..sql.errors import marked
from ..sql.tokens import tokenize

_UNSET = re.compile(r"\$\{([\w.]+)\}")


class StatementCursor(Cursor):
    """A place in a statement; what does not fit there raises PARSE_SYNTAX_ERROR.

    Args:
        text: the statement, with what stands before it in its file blanked out, so that places in
            messages are those in the statement.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, tokenize(text), Conf())

    @property
    def at_end(self) -> bool:
        """Whether all words are read."""
        return self.token.kind == "end"

    def fail(self, expected: str) -> NoReturn:
        """The word that comes next fits nothing.

        Raises:
            AnalysisError: PARSE_SYNTAX_ERROR.
        """
        raise self.misfit()

    def misfit(self, more: str = "") -> AnalysisError:
        """The error at the next word, as Spark's parser words it."""
        token = self.token
        near = token.text if self.at_end else f"'{self.text[token.start : token.stop + 1]}'"
        start = len(self.text.rstrip()) if self.at_end else token.start
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

    def name(self) -> str:
        """A name, quoted or not, of any letters."""
        token = self.token
        if not token.is_name:
            raise self.misfit()
        self.advance()
        return token.text

    def plain_name(self) -> str:
        """A name: a hyphen behind it is no part of it."""
        return self.name()

    def columns(self) -> tuple[str, ...]:
        """`(a, b)`: names of columns, each as it is written."""
        return tuple(".".join(parts) for parts in self.bracketed_list(self.qualified_name))

    def bracket(self) -> str:
        """The text within the brackets that come next."""
        if not self.ahead("("):
            raise self.misfit(": missing '('")
        start = self.token.start + 1
        depth = 0
        while not self.at_end:
            token = self.token
            self.advance()
            depth += {"(": 1, ")": -1}.get(token.symbol, 0)
            if depth == 0:
                return self.text[start : token.start]
        raise self.misfit(": missing ')'")

    def rest(self) -> str:
        """All that follows, as long as the text itself: what is read already is blanked out."""
        start = self.token.start
        self.move(len(self.tokens))
        return blanked(self.text, start) + self.text[start:]

    def until(self, stops: Callable[[StatementCursor], bool]) -> str:
        """The text up to a word at which `stops` is true, outside brackets; or to the end."""
        start = self.token.start
        depth = 0
        while not self.at_end and (depth or not stops(self)):
            depth += {"(": 1, ")": -1}.get(self.token.symbol, 0)
            self.advance()
        return self.text[start : self.token.start].strip()


def blanked(text: str, end: int) -> str:
    """Blanks for what comes before `end`; lines stay lines."""
    return "".join(letter if letter == "\n" else " " for letter in text[:end])
