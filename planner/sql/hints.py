"""Hints: `/*+ BROADCAST(t), REPARTITION(4, a) */`."""

from __future__ import annotations

from typing import NoReturn

from ..model.expressions.core import Expression, Literal, Origin, lit
from ..model.expressions.unresolved import UnresolvedAttribute
from ..model.frozen import dataclass
from ..model.plans.hints import RawParameter, UnresolvedHint
from ..model.plans.partitions import PARTITION_HINTS
from ..model.plans.query_plan import LogicalPlan
from ..model.settings.conf import Conf
from .cursor import Misfit
from .errors import syntax_error
from .expressions import ExpressionParser
from .tokens import Token, tokenize

_BEGIN, _END = "/*+", "*/"


@dataclass(frozen=True, kw_only=True)
class Hint:
    """One hint; `parameters` are its expressions, each with its text."""

    name: str
    parameters: tuple[tuple[str, Expression], ...]
    origin: Origin

    def over(self, plan: LogicalPlan) -> LogicalPlan:
        """The plan below the hint."""
        if self.name.upper() in PARTITION_HINTS:
            given = tuple(self._parameter(text, value) for text, value in self.parameters)
            return UnresolvedHint(child=plan, name=self.name, parameters=given)
        texts = (text.replace("`", "") for text, _ in self.parameters)
        tables = tuple(tuple(text.split(".")) for text in texts)
        return UnresolvedHint(child=plan, name=self.name, tables=tables, origin=self.origin)

    def _parameter(self, text: str, value: Expression) -> Expression:
        """A number, a column's name, plain or as a string; else what shows what it was."""
        match value:
            case UnresolvedAttribute():
                return value
            case Literal(value=int(number)):
                return lit(number)
            case Literal(value=str(name)):
                return UnresolvedAttribute(parts=(name,), origin=self.origin)
        return RawParameter(raw=text)


def read_hints(comment: Token, text: str, conf: Conf) -> list[Hint]:
    """The hints of one comment.

    Raises:
        AnalysisError: PARSE_SYNTAX_ERROR at what is no hint.
    """
    stop = comment.stop + 1 - len(_END) * text.startswith(_END, comment.stop + 1 - len(_END))
    start = comment.start + len(_BEGIN)
    parser = _HintParser(text, tokenize(" " * start + text[start:stop]), conf)
    try:
        return parser.hints(parser.span(comment.start, comment.stop))
    except Misfit:
        token = parser.token
        at_end = token.kind == "end"
        place = stop if at_end else token.start
        near = _END if at_end else text[token.start : token.stop + 1]
        raise syntax_error(f"'{near}'", text, place, f"Expected here: {parser.expected}.") from None


class _HintParser(ExpressionParser):
    """Reads what stands in a comment of hints."""

    def hints(self, origin: Origin) -> list[Hint]:
        found = [self._hint(origin)]
        while self.token.kind != "end":
            self.take(",")
            found.append(self._hint(origin))
        return found

    def _hint(self, origin: Origin) -> Hint:
        name = self.name()
        given = self.bracketed_list(self._parameter) if self.token.symbol == "(" else []
        return Hint(name=name, parameters=tuple(given), origin=origin)

    def _parameter(self) -> tuple[str, Expression]:
        start = self.index
        value = self.primary()
        place = self.origin(start)
        return self.text[place.start : place.stop + 1], value

    def query(self) -> NoReturn:
        self.fail("a parameter")
