"""Spark's expression grammar over sqlglot's token cursor.

sqlglot's own expression grammar is a union of many dialects: it binds `=` looser than `<`, reads
calls into classes of its own and renames them. Here the levels are Spark's and every call keeps
the name and the arguments that were written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from .cursor import STOP_WORDS, Node
from .grammar import JOIN_AND_SET_WORDS
from .nodes import MultiAlias
from .primary import PrimaryParser

# Operators between operands, by how tightly they bind: those of a line alike, from the left.
_OPERATORS: tuple[dict[TokenType, Any], ...] = (
    {
        TokenType.EQ: exp.EQ,
        TokenType.NULLSAFE_EQ: exp.NullSafeEQ,
        TokenType.NEQ: exp.NEQ,
        TokenType.LT: exp.LT,
        TokenType.LTE: exp.LTE,
        TokenType.GT: exp.GT,
        TokenType.GTE: exp.GTE,
    },
    {TokenType.PIPE: exp.BitwiseOr},
    {TokenType.CARET: exp.BitwiseXor},
    {TokenType.AMP: exp.BitwiseAnd},
    {},  # shifts: signs that are several tokens
    {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub, TokenType.DPIPE: exp.DPipe},
    {TokenType.STAR: exp.Mul, TokenType.SLASH: exp.Div, TokenType.MOD: exp.Mod},  # and DIV
)
_LEVELS = {token: level for level, kinds in enumerate(_OPERATORS, 1) for token in kinds}
_KINDS = {token: kind for kinds in _OPERATORS for token, kind in kinds.items()}
_SHIFT = 1 + _OPERATORS.index({})
_BEGIN_PREDICATE = (TokenType.VAR, TokenType.NOT)
_UNARY = {TokenType.PLUS: "positive", TokenType.TILDE: "~", TokenType.DASH: "-"}


class ExpressionParser(PrimaryParser):
    """Reads expressions level by level. Every node knows the token it starts with."""

    # ---------------------------------------------------------------------------------- boolean

    def _parse_expression(self) -> Node:
        """A named expression: `e`, `e AS name`, `e name`, `e AS (a, b)`."""
        start = self._index
        node = self._parse_disjunction()
        if self._is_as_a_name():
            return self._mark(start, exp.Alias(this=node, alias=self._parse_plain_name()))
        explicit = self._word("AS")
        if self._curr.token_type == TokenType.L_PAREN:
            names = self._wrapped(lambda: self._list(self._parse_name))
            return self._mark(start, MultiAlias(this=node, names=names))
        if explicit or self._is_alias():
            return self._mark(start, exp.Alias(this=node, alias=self._parse_plain_name()))
        return node

    def _is_as_a_name(self) -> bool:
        """`SELECT a AS, b` and `SELECT a AS FROM t`: where no name follows, AS is the name."""
        if not self._ahead("AS") or self._peek_type(1) is None:
            return False
        following = self._tokens[self._index + 1]
        if following.token_type == TokenType.COMMA:
            return True
        behind = self._peek_type(2)
        return (
            following.token_type != TokenType.IDENTIFIER
            and following.text.upper() == "FROM"
            and behind not in (None, TokenType.COMMA, TokenType.R_PAREN)
            and self._tokens[self._index + 2].text.upper() != "FROM"
        )

    def _is_alias(self) -> bool:
        if self._curr.token_type == TokenType.IDENTIFIER:
            return True
        if self._curr.token_type != TokenType.VAR:
            return False
        word = self._peek_word()
        if self._peek_type(1) is None:  # the text's last word begins no clause
            return word not in JOIN_AND_SET_WORDS
        return word not in STOP_WORDS or self._is_qualify_a_name()

    def _is_qualify_a_name(self) -> bool:
        """QUALIFY is a name where no condition can follow it."""
        if self._peek_word() != "QUALIFY":
            return False
        following = self._tokens[self._index + 1]
        return following.token_type in (TokenType.COMMA, TokenType.R_PAREN) or (
            following.text.upper() in STOP_WORDS and following.token_type != TokenType.IDENTIFIER
        )

    def _parse_assignment(self) -> Node:
        return self._parse_disjunction()

    def _parse_disjunction(self) -> Node:
        return self._connected(self._parse_conjunction, "OR", exp.Or)

    def _parse_conjunction(self) -> Node:
        return self._connected(self._parse_negation, "AND", exp.And)

    def _connected(self, operand: Callable[[], Node], word: str, kind: Any) -> Node:
        """A chain of AND (or OR) as the balanced tree that Spark's parser makes of it."""
        starts, operands = [self._index], [operand()]
        if self._curr.token_type != TokenType.VAR:
            return operands[0]
        while self._word(word):
            starts.append(self._index)
            operands.append(operand())

        def tree(low: int, high: int) -> Node:
            if low == high:
                return operands[low]
            middle = low + (high - low) // 2
            node = kind(this=tree(low, middle), expression=tree(middle + 1, high))
            if "stop" in operands[high].meta:
                node.meta["stop"] = operands[high].meta["stop"]
            return self._mark(starts[low], node)

        return tree(0, len(operands) - 1)

    def _parse_negation(self) -> Node:
        start = self._index
        if self._match(TokenType.NOT) or self._word("NOT"):
            return self._mark(start, exp.Not(this=self._parse_negation()))
        if self._peek_word() == "EXISTS" and self._is_query_ahead(1):
            self._advance()
            return self._mark(start, exp.Exists(this=self._wrapped(self._parse_query)))
        return self._parse_predicate(start, self._parse_comparison())

    def _parse_predicate(self, start: int, left: Node) -> Node:
        index = self._index
        if self._curr.token_type not in _BEGIN_PREDICATE:
            return left
        if self._word("IS"):
            negated = self._word("NOT") or self._match(TokenType.NOT)
            return self._mark(index, self._parse_is(left, negated))
        negated = self._word("NOT") or self._match(TokenType.NOT)
        match self._peek_word():
            case "BETWEEN":
                self._advance()
                low = self._parse_comparison()
                self._expect_word("AND")
                node = exp.Between(this=left, low=low, high=self._parse_comparison())
            case "IN":
                self._advance()
                node = self._parse_in(left)
            case "RLIKE" | "REGEXP":
                self._advance()
                node = exp.RegexpLike(this=left, expression=self._parse_comparison())
            case "LIKE" | "ILIKE" as word:
                self._advance()
                node = self._parse_like(left, exp.Like if word == "LIKE" else exp.ILike)
            case _:
                self._retreat(index)
                return left
        # Spark places what is wrong with a predicate at its first word, not at its left side.
        return self._negate(index, self._mark(index, node), negated)

    def _negate(self, start: int, node: Node, negated: bool) -> Node:
        return self._mark(start, exp.Not(this=node)) if negated else node

    def _parse_is(self, left: Node, negated: bool) -> Node:
        if self._word("DISTINCT", "FROM"):
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return kind(this=left, expression=self._parse_comparison())
        value = exp.Null()
        if self._peek_word() in ("TRUE", "FALSE"):
            value = exp.Boolean(this=self._peek_word() == "TRUE")
        elif self._peek_word() not in ("NULL", "UNKNOWN"):
            self.raise_error("Expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
        self._advance()
        return exp.Is(this=left, expression=value, negate=negated)

    def _parse_in(self, this: Node, alias: bool = False) -> Node:
        # `IN (VALUES (1), (2))` calls a function named so, as in Spark's grammar; `IN ((SELECT 1))`
        # has one value.
        if (
            self._is_query_ahead(0)
            and self._tokens[self._index + 1].text.upper() != "VALUES"
            and not self._is_bracket_in_bracket()
        ):
            return exp.In(this=this, query=self._wrapped(self._parse_query))
        if self._curr.token_type == TokenType.L_PAREN and self._peek_type(1) == TokenType.R_PAREN:
            self._advance(2)
            return exp.In(this=this, expressions=[])
        values = self._wrapped(lambda: self._list(self._parse_disjunction))
        return exp.In(this=this, expressions=values)

    def _parse_like(self, left: Node, kind: Any) -> Node:
        quantifier = self._peek_word()
        if quantifier in ("ANY", "SOME", "ALL") and self._peek_type(1) == TokenType.L_PAREN:
            self._advance()
            if self._peek_type(1) == TokenType.R_PAREN:
                self._advance(2)
                patterns = []
            else:
                patterns = self._wrapped(lambda: self._list(self._parse_disjunction))
            return kind(
                this=left, expression=exp.Tuple(expressions=patterns), quantifier=quantifier
            )
        node = kind(this=left, expression=self._parse_comparison())
        if self._word("ESCAPE"):
            node = exp.Escape(this=node, expression=self._parse_string_literal())
        return node

    # ------------------------------------------------------------------------------- arithmetic

    def _parse_comparison(self, this: Node = None) -> Node:
        return self._parse_above(0)

    def _parse_bitwise(self) -> Node:
        return self._parse_above(_LEVELS[TokenType.EQ])

    def _parse_term(self, parse_mod: bool = True) -> Node:
        return self._parse_above(_SHIFT)

    def _parse_factor(self, parse_mod: bool = True) -> Node:
        return self._parse_above(_LEVELS[TokenType.PLUS])

    def _parse_above(self, level: int) -> Node:
        """Operands and the operators between them that bind tighter than a level."""
        start = self._index
        left = self._parse_unary()
        while True:
            found, length = self._operator()
            if found <= level:
                return left
            token = self._curr
            self._advance(length)
            right = self._parse_above(found)
            if found == _SHIFT:
                sign = token.text * length
                left = exp.Anonymous(this=sign, expressions=[left, right])
            else:
                left = _KINDS.get(token.token_type, exp.IntDiv)(this=left, expression=right)
            left = self._mark(start, left)

    def _operator(self) -> tuple[int, int]:
        """How tightly the operator that comes next binds, 0 for none, and of how many tokens."""
        kind = self._curr.token_type
        if kind in (TokenType.LT, TokenType.GT):
            length = self._shift_length(kind)
            if length > 1:
                return _SHIFT, length
        elif kind == TokenType.VAR:
            return (_LEVELS[TokenType.STAR] if self._peek_word() == "DIV" else 0), 1
        return _LEVELS.get(kind, 0), 1

    def _shift_length(self, kind: TokenType) -> int:
        """`<<`, `>>` or `>>>`, written as signs without space between them."""
        length = 1
        while length < 3 and self._peek_type(length) == kind and self._touches(length):
            length += 1
        return min(length, 2) if kind == TokenType.LT else length

    def _touches(self, offset: int) -> bool:
        first, second = self._tokens[self._index + offset - 1], self._tokens[self._index + offset]
        return bool(first.end + 1 == second.start)

    def _parse_unary(self) -> Node:
        start = self._index
        kind = self._curr.token_type
        if kind == TokenType.DASH and self._is_number(1):
            return self._parse_postfix(start)
        if kind in _UNARY:
            self._advance()
            call = exp.Anonymous(this=_UNARY[kind], expressions=[self._parse_unary()])
            return self._mark(start, call)
        return self._parse_postfix(start)
