"""Function calls with what may follow them: FILTER, IGNORE NULLS, OVER."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from ..model.registry import find
from .cursor import NAMES, STOP_WORDS, Node
from .forms import FormParser


class CallParser(FormParser):
    """Reads calls; every call keeps the name and the arguments that were written."""

    def _parse_call(self, name: str) -> Node:
        start = self._index - 1
        self._expect(TokenType.L_PAREN)
        distinct = False
        arguments: list[Node] = []
        if not self._match(TokenType.R_PAREN):
            distinct = self._quantifier()
            arguments = self._list(self._parse_argument)
            if self._takes_nulls(name) and self._word("IGNORE", "NULLS"):
                self._expect(TokenType.R_PAREN)
                call = exp.Anonymous(this=name, expressions=arguments)
                return self._call_suffixes(start, exp.IgnoreNulls(this=self._mark(start, call)))
            self._expect(TokenType.R_PAREN)
        if distinct:
            arguments = [exp.Distinct(expressions=arguments)]
        return self._call_suffixes(start, exp.Anonymous(this=name, expressions=arguments))

    def _takes_nulls(self, name: str) -> bool:
        spec = find(name.lower())
        return spec is not None and spec.nulls_in_arguments

    def _quantifier(self) -> bool:
        """DISTINCT or ALL before arguments; True for DISTINCT."""
        # A column may be called `distinct`: then a sign that goes on with it follows.
        follows = self._peek_type(1)
        if follows in (TokenType.R_PAREN, TokenType.COMMA, TokenType.DOT):
            return False
        if self._word("DISTINCT"):
            return True
        self._word("ALL")
        return False

    def _parse_argument(self) -> Node:
        if self._curr.token_type in NAMES and self._peek_type(1) == TokenType.FARROW:
            name = self._parse_name()
            self._advance()
            return exp.Kwarg(this=name, expression=self._parse_disjunction())
        return self._parse_disjunction()

    def _call_suffixes(self, start: int, node: Node) -> Node:
        self._mark(start, node)
        if self._word("WITHIN", "GROUP"):
            order = self._wrapped(self._parse_order_by)
            node = self._mark(start, exp.WithinGroup(this=node, expression=order))
        if self._ahead("FILTER") and self._peek_type(1) == TokenType.L_PAREN:
            self._advance()
            self._expect(TokenType.L_PAREN)
            self._expect_word("WHERE")
            where = exp.Where(this=self._parse_disjunction())
            self._expect(TokenType.R_PAREN)
            node = self._mark(start, exp.Filter(this=node, expression=where))
        if self._word("IGNORE", "NULLS"):
            node = self._mark(start, exp.IgnoreNulls(this=node))
        elif self._word("RESPECT", "NULLS"):
            node = self._mark(start, exp.RespectNulls(this=node))
        if self._ahead("OVER") and self._is_window_ahead():
            self._advance()
            node = self._mark(start, self._parse_over(node))
        return node

    def _is_window_ahead(self) -> bool:
        """Whether a window follows OVER; else OVER is the call's name: `sum(a) OVER FROM t`."""
        following = self._peek_type(1)
        if following != TokenType.VAR:
            return following in (TokenType.L_PAREN, TokenType.IDENTIFIER)
        return self._tokens[self._index + 1].text.upper() not in STOP_WORDS

    def _parse_order_by(self) -> Node:
        self._expect_word("ORDER", "BY")
        return exp.Order(expressions=self._list(self._parse_ordered))

    def _parse_ordered(self, parse_method: Any = None) -> Node:
        start = self._index
        node = self._parse_disjunction()
        descending = self._word("DESC")
        if not descending:
            self._word("ASC")
        nulls_first = not descending
        if self._word("NULLS", "FIRST"):
            nulls_first = True
        elif self._word("NULLS", "LAST"):
            nulls_first = False
        ordered = exp.Ordered(this=node, desc=descending, nulls_first=nulls_first)
        return self._mark(start, ordered)

    def _parse_over(self, function: Node) -> Node:
        if self._curr.token_type in NAMES:
            return exp.Window(this=function, alias=self._parse_name())
        return self._wrapped(lambda: self._parse_window_definition(function))

    def _parse_window_definition(self, function: Node) -> Node:
        partition: list[Node] = []
        order = None
        if (
            self._word("PARTITION", "BY")
            or self._word("DISTRIBUTE", "BY")
            or self._word("CLUSTER", "BY")
        ):
            partition = self._list(self._parse_disjunction)
        if self._word("ORDER", "BY") or self._word("SORT", "BY"):
            order = exp.Order(expressions=self._list(self._parse_ordered))
        window = exp.Window(this=function, partition_by=partition, order=order)
        if self._peek_word() in ("ROWS", "RANGE"):
            window.set("spec", self._parse_frame())
        elif self._curr.token_type in NAMES:
            window.set("alias", self._parse_name())
        return window

    def _parse_frame(self) -> Node:
        kind = self._peek_word()
        self._advance()
        between = self._word("BETWEEN")
        low, start_side = self._parse_bound()
        high, end_side = self._parse_bound(between) if between else (None, "CURRENT ROW")
        return exp.WindowSpec(
            kind=kind, start=low, start_side=start_side, end=high, end_side=end_side
        )

    def _parse_bound(self, second: bool = False) -> tuple[Node | None, str]:
        """A bound's value, if it has one, and the words behind it."""
        if second:
            self._expect_word("AND")
        if self._word("CURRENT", "ROW"):
            return None, "CURRENT ROW"
        unbounded = self._word("UNBOUNDED")
        value = None if unbounded else self._parse_disjunction()
        side = "PRECEDING" if self._word("PRECEDING") else "FOLLOWING"
        if side == "FOLLOWING":
            self._expect_word("FOLLOWING")
        return value, f"UNBOUNDED {side}" if unbounded else side
