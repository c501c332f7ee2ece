"""Spark's expression grammar over sqlglot's token cursor.

sqlglot's own expression grammar is a union of many dialects: it binds `=` looser than `<`, reads
calls into classes of its own and renames them. Here the levels are Spark's and every call keeps
the name and the arguments that were written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokens import TokenType

from .nodes import IntervalLiteral, MultiAlias, TypedLiteral

Node = Any  # sqlglot carries no types here

_FACTORS = {TokenType.STAR: exp.Mul, TokenType.SLASH: exp.Div, TokenType.MOD: exp.Mod}
_TERMS = {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub, TokenType.DPIPE: exp.DPipe}
_COMPARISONS = {
    TokenType.EQ: exp.EQ,
    TokenType.NULLSAFE_EQ: exp.NullSafeEQ,
    TokenType.NEQ: exp.NEQ,
    TokenType.LT: exp.LT,
    TokenType.LTE: exp.LTE,
    TokenType.GT: exp.GT,
    TokenType.GTE: exp.GTE,
}
_UNARY = {TokenType.PLUS: "positive", TokenType.TILDE: "~", TokenType.DASH: "negative"}
_STRINGS = (TokenType.STRING, TokenType.RAW_STRING)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_TYPED_LITERALS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME"})
_SINGULAR_UNITS = (
    "NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK",
    "MONTH", "YEAR",
)  # fmt: skip
INTERVAL_UNITS = frozenset((*_SINGULAR_UNITS, *(unit + "S" for unit in _SINGULAR_UNITS)))
_SPAN_UNITS = frozenset({"SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR"})
_DATETIME_UNITS = frozenset(
    {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND",
     "MILLISECOND", "MICROSECOND"}
)  # fmt: skip
_UNIT_CALLS = frozenset(
    {"TIMESTAMPADD", "DATEADD", "DATE_ADD", "TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF", "TIMEDIFF"}
)
# A word that ends an expression where a name without AS may follow.
STOP_WORDS = frozenset(
    {"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "EXCEPT",
     "INTERSECT", "MINUS", "SETMINUS", "WINDOW", "LATERAL", "CLUSTER", "DISTRIBUTE", "SORT",
     "JOIN", "ON", "USING", "CROSS", "INNER", "LEFT", "RIGHT", "FULL", "NATURAL", "SEMI", "ANTI",
     "PIVOT", "UNPIVOT", "TABLESAMPLE", "WATERMARK"}
)  # fmt: skip


class ExpressionParser(DatabricksParser):  # type: ignore[misc]
    """Reads expressions as Spark does. Every node knows the token it starts with."""

    # ------------------------------------------------------------------------------- the cursor

    def _word(self, *words: str) -> bool:
        """Whether the words come next, whatever their case; if so, step over them."""
        index = self._index
        for word in words:
            if self._curr.token_type != TokenType.VAR or self._curr.text.upper() != word:
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

    # ---------------------------------------------------------------------------------- boolean

    def _parse_expression(self) -> Node:
        """A named expression: `e`, `e AS name`, `e name`, `e AS (a, b)`."""
        start = self._index
        node = self._parse_disjunction()
        explicit = self._word("AS")
        if self._curr.token_type == TokenType.L_PAREN:
            names = self._wrapped(lambda: self._list(self._parse_name))
            return self._mark(start, MultiAlias(this=node, names=names))
        if explicit or self._is_alias():
            return self._mark(start, exp.Alias(this=node, alias=self._parse_name()))
        return node

    def _is_alias(self) -> bool:
        if self._curr.token_type == TokenType.IDENTIFIER:
            return True
        return self._curr.token_type == TokenType.VAR and self._peek_word() not in STOP_WORDS

    def _parse_assignment(self) -> Node:
        return self._parse_disjunction()

    def _parse_disjunction(self) -> Node:
        return self._binary(self._parse_conjunction, lambda: exp.Or if self._word("OR") else None)

    def _parse_conjunction(self) -> Node:
        return self._binary(self._parse_negation, lambda: exp.And if self._word("AND") else None)

    def _binary(self, operand: Callable[[], Node], operator: Callable[[], Node]) -> Node:
        start = self._index
        left = operand()
        while kind := operator():
            left = self._mark(start, kind(this=left, expression=operand()))
        return left

    def _parse_negation(self) -> Node:
        start = self._index
        if self._match(TokenType.NOT) or self._is_not_word():
            return self._mark(start, exp.Not(this=self._parse_negation()))
        if self._peek_word() == "EXISTS" and self._is_query_ahead(1):
            self._advance()
            return self._mark(start, exp.Exists(this=self._wrapped(self._parse_query)))
        return self._parse_predicate(start, self._parse_comparison())

    def _is_not_word(self) -> bool:
        return self._word("NOT")

    def _parse_predicate(self, start: int, left: Node) -> Node:
        index = self._index
        if self._word("IS"):
            negated = self._word("NOT") or self._match(TokenType.NOT)
            node = self._negate(start, self._parse_is(left), negated)
            node.meta["postfix"] = True
            return self._mark(start, node)
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
        return self._negate(start, self._mark(start, node), negated)

    def _negate(self, start: int, node: Node, negated: bool) -> Node:
        return self._mark(start, exp.Not(this=node)) if negated else node

    def _parse_is(self, left: Node) -> Node:
        if self._word("NULL"):
            return exp.Is(this=left, expression=exp.Null())
        if self._word("TRUE"):
            return exp.Is(this=left, expression=exp.Boolean(this=True))
        if self._word("FALSE"):
            return exp.Is(this=left, expression=exp.Boolean(this=False))
        if self._word("UNKNOWN"):
            return exp.Is(this=left, expression=exp.Null())
        self._expect_word("DISTINCT", "FROM")
        return exp.NullSafeNEQ(this=left, expression=self._parse_comparison())

    def _parse_in(self, this: Node, alias: bool = False) -> Node:
        if self._is_query_ahead(0):
            return exp.In(this=this, query=self._wrapped(self._parse_query))
        values = self._wrapped(lambda: self._list(self._parse_disjunction))
        return exp.In(this=this, expressions=values)

    def _parse_like(self, left: Node, kind: Any) -> Node:
        quantifier = self._peek_word()
        if quantifier in ("ANY", "SOME", "ALL") and self._peek_type(1) == TokenType.L_PAREN:
            self._advance()
            patterns = self._wrapped(lambda: self._list(self._parse_disjunction))
            return kind(
                this=left, expression=exp.Tuple(expressions=patterns), quantifier=quantifier
            )
        node = kind(this=left, expression=self._parse_comparison())
        if self._word("ESCAPE"):
            node = exp.Escape(this=node, expression=self._parse_string_literal())
        return node

    # ------------------------------------------------------------------------------- arithmetic

    def _by_token(self, kinds: dict[TokenType, Any]) -> Callable[[], Any]:
        def operator() -> Any:
            kind = kinds.get(self._curr.token_type)
            if kind is not None:
                self._advance()
            return kind

        return operator

    def _parse_comparison(self, this: Node = None) -> Node:
        return self._binary(self._parse_bitwise, self._by_token(_COMPARISONS))

    def _parse_bitwise(self) -> Node:
        return self._binary(self._parse_bit_xor, self._by_token({TokenType.PIPE: exp.BitwiseOr}))

    def _parse_bit_xor(self) -> Node:
        return self._binary(self._parse_bit_and, self._by_token({TokenType.CARET: exp.BitwiseXor}))

    def _parse_bit_and(self) -> Node:
        return self._binary(self._parse_shift, self._by_token({TokenType.AMP: exp.BitwiseAnd}))

    def _parse_shift(self) -> Node:
        start = self._index
        left = self._parse_term()
        while sign := self._shift_sign():
            call = exp.Anonymous(this=sign, expressions=[left, self._parse_term()])
            left = self._mark(start, call)
        return left

    def _shift_sign(self) -> str:
        """`<<`, `>>` or `>>>`, written as signs without space between them."""
        kind = self._curr.token_type
        if kind not in (TokenType.LT, TokenType.GT):
            return ""
        length = 1
        while length < 3 and self._peek_type(length) == kind and self._touches(length):
            length += 1
        if length == 1:
            return ""
        length = 2 if kind == TokenType.LT else length
        self._advance(length)
        return ("<" if kind == TokenType.LT else ">") * length

    def _touches(self, offset: int) -> bool:
        first, second = self._tokens[self._index + offset - 1], self._tokens[self._index + offset]
        return bool(first.end + 1 == second.start)

    def _parse_term(self, parse_mod: bool = True) -> Node:
        return self._binary(self._parse_factor, self._by_token(_TERMS))

    def _parse_factor(self, parse_mod: bool = True) -> Node:
        by_token = self._by_token(_FACTORS)
        return self._binary(
            self._parse_unary, lambda: exp.IntDiv if self._word("DIV") else by_token()
        )

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

    # ---------------------------------------------------------------------------------- primary

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

    def _parse_name(self) -> Node:
        """A name, quoted or not."""
        token = self._curr
        if token.token_type not in _NAMES:
            self.raise_error("Expected a name")
        self._advance()
        quoted = token.token_type == TokenType.IDENTIFIER
        return self._mark(self._index - 1, exp.Identifier(this=token.text, quoted=quoted))

    def _parse_primary(self) -> Node:
        kind = self._curr.token_type
        if kind in _STRINGS:
            return self._parse_string_literal(many=True)
        if kind == TokenType.DASH or self._is_number(0):
            return self._parse_number()
        if kind == TokenType.HEX_STRING:
            self._advance()
            return exp.HexString(this=self._prev.text)
        if kind == TokenType.STAR:
            return self._parse_star()
        if kind == TokenType.L_PAREN:
            return self._parse_paren()
        if kind == TokenType.IDENTIFIER:
            return self._parse_reference()
        if kind == TokenType.VAR:
            return self._parse_keyword_form() or self._parse_reference()
        self.raise_error("Expected an expression")
        return None

    def _parse_string_literal(self, many: bool = False) -> Node:
        if self._curr.token_type not in _STRINGS:
            self.raise_error("Expected a string")
        text = self._curr.text
        self._advance()
        while many and self._curr.token_type in _STRINGS:
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
            return True
        return token.token_type == TokenType.VAR and _has_number_suffix(token.text)

    def _is_fraction(self, index: int) -> bool:
        """Whether `.5` stands there: sqlglot gives the point a token of its own."""
        if index + 1 >= self._tokens_size:
            return False
        point, digits = self._tokens[index], self._tokens[index + 1]
        return bool(
            point.end + 1 == digits.start and digits.text[:1].isdigit() and "." not in digits.text
        )

    def _parse_number(self) -> Node:
        text = ""
        if self._match(TokenType.DASH):
            text = "-"
        if self._match(TokenType.DOT):
            text += "."
        text += self._curr.text
        self._advance()
        return exp.Literal(this=text, is_string=False)

    def _parse_star(self) -> Node:
        self._expect(TokenType.STAR)
        star = exp.Star()
        if self._ahead("EXCEPT") and self._peek_type(1) == TokenType.L_PAREN:
            self._advance()
            star.set("except_", self._wrapped(lambda: self._list(self._parse_qualified_name)))
        return star

    def _parse_qualified_name(self) -> Node:
        parts = [self._parse_name()]
        while self._match(TokenType.DOT):
            parts.append(self._parse_name())
        return exp.Tuple(expressions=parts)

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
        while self._peek_type(offset) in _NAMES and self._peek_type(offset + 1) == TokenType.COMMA:
            offset += 2
        arrow = (self._peek_type(offset + 1), self._peek_type(offset + 2))
        if arrow != (TokenType.R_PAREN, TokenType.ARROW) or self._peek_type(offset) not in _NAMES:
            return None
        names = self._wrapped(lambda: self._list(self._parse_name))
        self._expect(TokenType.ARROW)
        return exp.Lambda(this=self._parse_disjunction(), expressions=names)

    def _is_query_ahead(self, offset: int) -> bool:
        """Whether a parenthesis opens there and a query follows it."""
        if self._peek_type(offset) != TokenType.L_PAREN:
            return False
        index = self._index + offset + 1
        while index < self._tokens_size and self._tokens[index].token_type == TokenType.L_PAREN:
            index += 1
        if index >= self._tokens_size or self._tokens[index].token_type != TokenType.VAR:
            return False
        word = self._tokens[index].text.upper()
        following = self._tokens[index + 1].token_type if index + 1 < self._tokens_size else None
        if word in ("SELECT", "WITH"):
            return following not in (TokenType.R_PAREN, TokenType.COMMA, TokenType.DOT)
        return word == "VALUES" and following in (
            TokenType.L_PAREN, TokenType.NUMBER, *_STRINGS
        )  # fmt: skip

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
            if self._peek_type(1) not in _NAMES:
                break
            self._advance()
            parts.append(self._parse_name())
        if self._curr.token_type == TokenType.L_PAREN:
            return self._parse_call(".".join(part.name for part in parts))
        return _column(parts)

    # ------------------------------------------------------------------------------------ calls

    def _parse_call(self, name: str) -> Node:
        start = self._index - 1
        self._expect(TokenType.L_PAREN)
        distinct = False
        arguments: list[Node] = []
        if not self._match(TokenType.R_PAREN):
            distinct = self._quantifier()
            arguments = self._list(self._parse_argument)
            if name.lower() in ("first", "last", "any_value") and self._word("IGNORE", "NULLS"):
                self._expect(TokenType.R_PAREN)
                call = exp.Anonymous(this=name, expressions=arguments)
                return self._call_suffixes(start, exp.IgnoreNulls(this=self._mark(start, call)))
            self._expect(TokenType.R_PAREN)
        if distinct:
            arguments = [exp.Distinct(expressions=arguments)]
        return self._call_suffixes(start, exp.Anonymous(this=name, expressions=arguments))

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
        if self._curr.token_type in _NAMES and self._peek_type(1) == TokenType.FARROW:
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
        if self._word("OVER"):
            node = self._mark(start, self._parse_over(node))
        return node

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
        if self._curr.token_type in _NAMES:
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
        elif self._curr.token_type in _NAMES:
            window.set("alias", self._parse_name())
        return window

    def _parse_frame(self) -> Node:
        first = self._index
        kind = self._peek_word()
        self._advance()
        between = self._word("BETWEEN")
        self._parse_bound()
        if between:
            self._expect_word("AND")
            self._parse_bound()
        text = self._find_sql(self._tokens[first], self._prev)
        return exp.WindowSpec(kind=kind, start=text)

    def _parse_bound(self) -> None:
        if self._word("CURRENT", "ROW"):
            return
        if not self._word("UNBOUNDED"):
            self._parse_disjunction()
        if not self._word("PRECEDING"):
            self._expect_word("FOLLOWING")

    # ------------------------------------------------------------------------------ other forms

    def _parse_keyword_form(self) -> Node:
        """What starts with a keyword: CASE, CAST, EXTRACT, INTERVAL, a literal; else None."""
        word = self._peek_word()
        following = self._peek_type(1)
        if following == TokenType.L_PAREN:
            form = _CALL_FORMS.get(word)
            return form(self) if form else None
        if following in _STRINGS and word in _TYPED_LITERALS:
            self._advance()
            return TypedLiteral(this=self._parse_string_literal(), kind=word)
        match word:
            case "NULL":
                self._advance()
                return exp.Null()
            case "TRUE" | "FALSE":
                self._advance()
                return exp.Boolean(this=word == "TRUE")
            case "CASE":
                return self._try(self._parse_case)
            case "INTERVAL":
                return self._try(self._parse_interval)
        return None

    def _try(self, parse: Callable[[], Node]) -> Node:
        """The form, or None with the cursor back where the word may be a column after all."""
        index = self._index
        node = parse()
        if node is None:
            self._retreat(index)
        return node

    def _parse_case(self) -> Node:
        following = self._peek_type(1)
        if following in (None, TokenType.COMMA, TokenType.R_PAREN, TokenType.DOT):
            return None
        self._expect_word("CASE")
        operand = None if self._ahead("WHEN") else self._parse_disjunction()
        branches = []
        while self._word("WHEN"):
            condition = self._parse_disjunction()
            self._expect_word("THEN")
            branches.append(exp.If(this=condition, true=self._parse_disjunction()))
        if not branches:
            self.raise_error("Expected WHEN")
        default = self._parse_disjunction() if self._word("ELSE") else None
        self._expect_word("END")
        return exp.Case(this=operand, ifs=branches, default=default)

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> Node:
        first = self._index
        self._expect_word("INTERVAL")
        values: list[Node] = []
        units: list[str] = []
        to = None
        while (value := self._parse_interval_value()) is not None:
            values.append(value)
            unit = self._peek_word()
            if unit not in INTERVAL_UNITS:
                # `INTERVAL '1 day 2 hours'`: the units are inside the string.
                if len(values) == 1 and value.is_string:
                    break
                self.raise_error("Expected an interval unit")
            self._advance()
            units.append(unit)
            if unit in _SPAN_UNITS and self._word("TO"):
                to = self._peek_word()
                if to not in _SPAN_UNITS:
                    self.raise_error("Expected an interval unit")
                self._advance()
                break
        if not values:
            return None
        text = self._find_sql(self._tokens[first + 1], self._prev)
        return IntervalLiteral(values=values, units=units, to=to, text=text)

    def _parse_interval_value(self) -> Node:
        index = self._index
        sign = "-" if self._match(TokenType.DASH) else ""
        if not sign:
            self._match(TokenType.PLUS)
        if self._curr.token_type in _STRINGS:
            literal = self._parse_string_literal()
            return exp.Literal.string(sign + literal.name) if sign else literal
        if self._is_number(0):
            number = self._parse_number()
            return exp.Literal(this=sign + number.name, is_string=False) if sign else number
        self._retreat(index)
        return None

    def _parse_cast(self, strict: bool = True, safe: bool | None = None) -> Node:
        kind = exp.TryCast if self._peek_word() == "TRY_CAST" else exp.Cast
        self._advance(2)
        node = self._parse_disjunction()
        self._expect_word("AS")
        to = self._parse_types()
        self._expect(TokenType.R_PAREN)
        return kind(this=node, to=to)

    def _parse_types(self, *_: object, **__: object) -> Node:
        """A data type, kept as its text: the schema reader understands it."""
        first = self._index
        self._skip_type()
        text = self._find_sql(self._tokens[first], self._prev)
        return self._mark(first, exp.DataType(this=exp.DType.USERDEFINED, kind=text))

    def _skip_type(self) -> None:
        word = self._parse_name().name.upper()
        if word in ("ARRAY", "MAP", "STRUCT") and self._match(TokenType.NEQ):
            return
        if word == "STRUCT" and self._match(TokenType.LT):
            while not self._match(TokenType.GT):
                self._parse_name()
                self._match(TokenType.COLON)
                self._skip_type()
                self._word("NOT", "NULL")
                if self._word("COMMENT"):
                    self._parse_string_literal()
                self._match(TokenType.COMMA)
        elif word in ("ARRAY", "MAP") and self._match(TokenType.LT):
            self._list_types()
        elif word == "INTERVAL" and self._peek_word() in _SPAN_UNITS:
            self._advance()
            if self._word("TO"):
                self._parse_name()
        elif self._match(TokenType.L_PAREN):
            self._list(self._parse_number)
            self._expect(TokenType.R_PAREN)
        elif word == "STRING" and self._word("COLLATE"):
            self._parse_name()

    def _list_types(self) -> None:
        self._skip_type()
        while self._match(TokenType.COMMA):
            self._skip_type()
        self._expect(TokenType.GT)

    def _parse_extract(self) -> Node:
        index = self._index
        self._advance(2)
        if (
            self._curr.token_type not in _NAMES
            or self._tokens[self._index + 1].text.upper() != "FROM"
        ):
            self._retreat(index)
            return None
        unit = self._parse_name()
        self._expect_word("FROM")
        source = self._parse_comparison()
        self._expect(TokenType.R_PAREN)
        return exp.Extract(this=exp.var(unit.name), expression=source)

    def _parse_substring(self) -> Node:
        name = self._peek_word().lower()
        self._advance(2)
        arguments = [self._parse_comparison()]
        if not self._word("FROM"):
            self._expect(TokenType.COMMA)
        arguments.append(self._parse_comparison())
        if self._word("FOR") or self._match(TokenType.COMMA):
            arguments.append(self._parse_comparison())
        self._expect(TokenType.R_PAREN)
        return exp.Anonymous(this=name, expressions=arguments)

    def _parse_trim(self) -> Node:
        index = self._index
        self._advance(2)
        position = self._peek_word()
        if position in ("BOTH", "LEADING", "TRAILING"):
            self._advance()
        else:
            position = ""
        characters = None
        if not self._ahead("FROM"):
            characters = self._parse_comparison()
        if not self._word("FROM"):
            self._retreat(index)
            return None
        source = self._parse_comparison()
        self._expect(TokenType.R_PAREN)
        return exp.Trim(this=source, expression=characters, position=position)

    def _parse_overlay(self) -> Node:
        index = self._index
        self._advance(2)
        arguments = [self._parse_comparison()]
        if not self._word("PLACING"):
            self._retreat(index)
            return None
        arguments.append(self._parse_comparison())
        self._expect_word("FROM")
        arguments.append(self._parse_comparison())
        if self._word("FOR"):
            arguments.append(self._parse_comparison())
        self._expect(TokenType.R_PAREN)
        return exp.Anonymous(this="overlay", expressions=arguments)

    def _parse_position(self, haystack_first: bool = False) -> Node:
        index = self._index
        self._advance(2)
        needle = self._parse_comparison()
        if not self._word("IN"):
            self._retreat(index)
            return None
        haystack = self._parse_comparison()
        self._expect(TokenType.R_PAREN)
        return exp.Anonymous(this="locate", expressions=[needle, haystack])

    def _parse_unit_call(self) -> Node:
        """`TIMESTAMPADD(DAY, 1, ts)`: the first argument is a bare unit."""
        unit = self._tokens[self._index + 2].text.upper()
        if unit not in _DATETIME_UNITS or self._peek_type(3) != TokenType.COMMA:
            return None
        kind = "timestampadd" if self._peek_word().endswith("ADD") else "timestampdiff"
        self._advance(4)
        arguments = self._list(self._parse_comparison)
        self._expect(TokenType.R_PAREN)
        return exp.Anonymous(this=kind, expressions=[exp.Literal.string(unit), *arguments])

    def _parse_struct(self) -> Node:
        self._advance(2)
        items: list[Node] = []
        if not self._match(TokenType.R_PAREN):
            items = self._list(self._parse_expression)
            self._expect(TokenType.R_PAREN)
        return exp.Anonymous(this="struct", expressions=items)


_CALL_FORMS: dict[str, Callable[[ExpressionParser], Node]] = {
    "CAST": ExpressionParser._parse_cast,
    "TRY_CAST": ExpressionParser._parse_cast,
    "CASE": ExpressionParser._parse_case,
    "STRUCT": ExpressionParser._parse_struct,
    "EXTRACT": ExpressionParser._parse_extract,
    "SUBSTR": ExpressionParser._parse_substring,
    "SUBSTRING": ExpressionParser._parse_substring,
    "TRIM": ExpressionParser._parse_trim,
    "OVERLAY": ExpressionParser._parse_overlay,
    "POSITION": ExpressionParser._parse_position,
    **dict.fromkeys(_UNIT_CALLS, ExpressionParser._parse_unit_call),
}


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


def _column(parts: list[Node]) -> Node:
    """Names with dots between them as sqlglot keeps them: Column for four parts, Dot for more."""
    head, rest = parts[:4], parts[4:]
    names = dict(zip(("this", "table", "db", "catalog"), reversed(head), strict=False))
    column = exp.Column(**names)
    for part in rest:
        column = exp.Dot(this=column, expression=part)
    return column
