"""Primary expressions: literals, columns, parentheses, lambdas, fields and elements."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import TokenType

from .calls import CallParser
from .cursor import NAMES, STRINGS, Node

_AFTER_QUERIES = frozenset(
    (")", "UNION", "EXCEPT", "MINUS", "INTERSECT", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE",
     "WINDOW", "LIMIT", "OFFSET")
)  # fmt: skip


class PrimaryParser(CallParser):
    """Reads what operators stand between."""

    def _parse_postfix(self, start: int) -> Node:
        node = self._mark(start, self._parse_primary())
        while True:
            if self._match(TokenType.L_BRACKET):
                index = self._parse_comparison()
                self._expect(TokenType.R_BRACKET)
                node = exp.Bracket(this=node, expressions=[index])
            elif self._match(TokenType.DOT):
                node = exp.Dot(this=node, expression=self._parse_name())
            elif self._match(TokenType.DCOLON):
                node = exp.Cast(this=node, to=self._parse_types())
            elif self._word("COLLATE"):
                node = exp.Collate(this=node, expression=self._parse_name())
            else:
                return node
            self._mark(start, node)

    def _parse_primary(self) -> Node:
        kind = self._curr.token_type
        if kind in STRINGS:
            return self._parse_string_literal(many=True)
        if kind == TokenType.DASH or self._is_number(0):
            return self._parse_number()
        if kind == TokenType.STAR:
            return self._parse_star()
        if kind == TokenType.L_PAREN:
            return self._parse_paren()
        if kind == TokenType.PLACEHOLDER:
            self._advance()
            return exp.Placeholder()
        if kind == TokenType.COLON and self._peek_type(1) in NAMES:
            self._advance()
            return exp.Placeholder(this=self._parse_name().name)
        if kind == TokenType.IDENTIFIER:
            return self._parse_reference()
        if kind == TokenType.VAR:
            return self._parse_keyword_form() or self._parse_reference()
        self.raise_error("Expected an expression")
        return None

    def _parse_star(self) -> Node:
        self._expect(TokenType.STAR)
        star = exp.Star()
        if self._ahead("EXCEPT") and self._peek_type(1) == TokenType.L_PAREN:
            self._advance()
            star.set("except_", self._wrapped(lambda: self._list(self._parse_qualified_name)))
        return star

    def _parse_paren(self) -> Node:
        if lambda_ := self._parse_wrapped_lambda():
            return lambda_
        if self._is_query_ahead(0):
            return exp.Subquery(this=self._wrapped(self._parse_query))
        items = self._wrapped(lambda: self._list(self._parse_expression))
        if len(items) > 1:
            return exp.Tuple(expressions=items)
        return exp.Paren(this=items[0])

    def _parse_wrapped_lambda(self) -> Node:
        """`(x, y) -> body`, or None."""
        offset = 1
        while self._peek_type(offset) in NAMES and self._peek_type(offset + 1) == TokenType.COMMA:
            offset += 2
        arrow = (self._peek_type(offset + 1), self._peek_type(offset + 2))
        if arrow != (TokenType.R_PAREN, TokenType.ARROW) or self._peek_type(offset) not in NAMES:
            return None
        names = self._wrapped(lambda: self._list(self._parse_name))
        self._expect(TokenType.ARROW)
        return exp.Lambda(this=self._parse_disjunction(), expressions=names)

    def _is_query_ahead(self, offset: int) -> bool:
        """Whether a parenthesis opens there and a query follows it."""
        if self._peek_type(offset) != TokenType.L_PAREN:
            return False
        first = index = self._index + offset + 1
        while index < self._tokens_size and self._tokens[index].token_type == TokenType.L_PAREN:
            index += 1
        return self._begins_query(index) and self._is_query_around(index, index - first)

    def _begins_query(self, index: int) -> bool:
        if index >= self._tokens_size or self._tokens[index].token_type != TokenType.VAR:
            return False
        word = self._tokens[index].text.upper()
        following = self._tokens[index + 1].token_type if index + 1 < self._tokens_size else None
        if word in ("SELECT", "WITH"):
            return following not in (TokenType.R_PAREN, TokenType.COMMA, TokenType.DOT)
        return word == "VALUES" and following in (
            TokenType.L_PAREN, TokenType.NUMBER, *STRINGS
        )  # fmt: skip

    def _is_query_around(self, index: int, brackets: int) -> bool:
        """Whether all the brackets before a query hold queries: `((SELECT 1))`, not
        `((SELECT 1) + 1)`."""
        depth = brackets
        while depth and index < self._tokens_size:
            kind = self._tokens[index].token_type
            if kind == TokenType.L_PAREN:
                brackets += 1
            elif kind == TokenType.R_PAREN:
                brackets -= 1
                if brackets < depth:
                    following = self._tokens[index + 1 : index + 2]
                    if following and following[0].text.upper() not in _AFTER_QUERIES:
                        return False
                    depth -= 1
            index += 1
        return True

    def _is_bracket_in_bracket(self) -> bool:
        """Whether brackets hold nothing but brackets: `((...))`."""
        if self._peek_type(1) != TokenType.L_PAREN:
            return False
        depth, index = 1, self._index + 2
        while depth and index < self._tokens_size:
            kind = self._tokens[index].token_type
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
            index += 1
        return bool(self._peek_type(index - self._index) == TokenType.R_PAREN)

    def _parse_reference(self) -> Node:
        """A column, a call, `t.*`, or a lambda of one parameter."""
        if self._peek_type(1) == TokenType.ARROW:
            name = self._parse_name()
            self._advance()
            return exp.Lambda(this=self._parse_disjunction(), expressions=[name])
        parts = [self._parse_name()]
        while self._curr.token_type == TokenType.DOT:
            if self._peek_type(1) == TokenType.STAR:
                self._advance()
                return _column([*parts, self._parse_star()])
            if self._peek_type(1) not in NAMES:
                break
            self._advance()
            parts.append(self._parse_name())
        if self._curr.token_type == TokenType.L_PAREN:
            return self._parse_call(".".join(part.name for part in parts))
        return _column(parts)


def _column(parts: list[Node]) -> Node:
    """Names with dots between them as sqlglot keeps them: Column for four parts, Dot for more."""
    head, rest = parts[:4], parts[4:]
    names = dict(zip(("this", "table", "db", "catalog"), reversed(head), strict=False))
    column = exp.Column(**names)
    for part in rest:
        column = exp.Dot(this=column, expression=part)
    return column
