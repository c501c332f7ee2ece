"""What starts with a keyword: CASE, CAST, INTERVAL, EXTRACT, TRIM and the like."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokens import TokenType

from .cursor import NAMES, STRINGS, Node, TokenCursor
from .nodes import IntervalLiteral, TypedLiteral

# Words before a string that are not meant as the literal's type.
_NO_KINDS = frozenset(
    {"ALL", "AND", "ANY", "BETWEEN", "CASE", "DISTINCT", "DIV", "ELSE", "END", "ESCAPE", "EXISTS",
     "FALSE", "IN", "INTERVAL", "IS", "LIKE", "ILIKE", "NOT", "NULL", "OR", "REGEXP", "RLIKE",
     "SOME", "THEN", "TRUE", "WHEN"}
)  # fmt: skip
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
_PLAIN_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
_UNIT_CALLS = frozenset(
    {"TIMESTAMPADD", "DATEADD", "DATE_ADD", "TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF", "TIMEDIFF"}
)


class FormParser(TokenCursor):
    """Reads what Spark's grammar has rules of its own for."""

    def _parse_keyword_form(self) -> Node:
        """What starts with a keyword: CASE, CAST, EXTRACT, INTERVAL, a literal; else None."""
        word = self._peek_word()
        following = self._peek_type(1)
        if following == TokenType.L_PAREN:
            form = _CALL_FORMS.get(word)
            return form(self) if form else None
        if following in STRINGS and word not in _NO_KINDS:
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
        start = self._index
        while (value := self._parse_interval_value()) is not None:
            unit = self._peek_word()
            if unit not in INTERVAL_UNITS and values:
                self._retreat(start)  # `INTERVAL 1 HOUR - 2`: the sign is an operator
                break
            values.append(value)
            if unit not in INTERVAL_UNITS:
                # `INTERVAL '1 day 2 hours'`: the units are inside the string.
                if value.is_string:
                    break
                self.raise_error("Expected an interval unit")
            units.append(self._curr.text)
            self._advance()
            if unit in _SPAN_UNITS and self._word("TO"):
                to = self._peek_word()
                if to not in _SPAN_UNITS:
                    self.raise_error("Expected an interval unit")
                self._advance()
                break
            start = self._index
        if not values:
            return None
        text = self._find_sql(self._tokens[first + 1], self._prev)
        return IntervalLiteral(values=values, units=units, to=to, text=text)

    def _parse_interval_value(self) -> Node:
        index = self._index
        sign = "-" if self._match(TokenType.DASH) else ""
        if not sign:
            self._match(TokenType.PLUS)
        if self._curr.token_type in STRINGS:
            literal = self._parse_string_literal()
            return exp.Literal.string(sign + literal.name) if sign else literal
        if self._is_number(0):
            number = self._parse_number()
            if not _PLAIN_NUMBER.fullmatch(number.name):
                self.raise_error("Expected a number without exponent and type")
            return exp.Literal(this=sign + number.name, is_string=False) if sign else number
        self._retreat(index)
        return None

    def _parse_cast(self, strict: bool = True, safe: bool | None = None) -> Node:
        kind = exp.TryCast if self._peek_word() == "TRY_CAST" else exp.Cast
        index = self._index
        self._advance(2)
        node = None if self._curr.token_type == TokenType.R_PAREN else self._parse_disjunction()
        if not self._word("AS"):
            if self._curr.token_type in (TokenType.R_PAREN, TokenType.COMMA):
                self._retreat(index)  # a call of a function of that name
                return None
            self.raise_error("Expected AS")
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
            self._curr.token_type not in NAMES
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
        """`SUBSTR(x FROM 2 FOR 3)`; with nothing but commas it is a call like any other."""
        index = self._index
        self._advance(2)
        if self._curr.token_type == TokenType.R_PAREN:
            self._retreat(index)
            return None
        arguments = [self._parse_comparison()]
        in_words = self._word("FROM")
        if not in_words and not self._match(TokenType.COMMA):
            self._retreat(index)
            return None
        arguments.append(self._parse_comparison())
        counted = self._word("FOR")
        if counted or self._match(TokenType.COMMA):
            arguments.append(self._parse_comparison())
        if not in_words and not counted:
            self._retreat(index)
            return None
        self._expect(TokenType.R_PAREN)
        return exp.Anonymous(this="substring", expressions=arguments)

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
        """`TIMESTAMPADD(DAY, 1, ts)`: the first argument is a bare unit.

        In `date_add(day, 1)` it is a column.
        """
        unit = self._tokens[self._index + 2].text.upper()
        if unit not in _DATETIME_UNITS or self._peek_type(3) != TokenType.COMMA:
            return None
        kind = "timestampadd" if self._peek_word().endswith("ADD") else "timestampdiff"
        index = self._index
        self._advance(4)
        arguments = self._list(self._parse_comparison)
        if len(arguments) != 2:
            self._retreat(index)
            return None
        self._expect(TokenType.R_PAREN)
        return exp.Anonymous(this=kind, expressions=[exp.Literal.string(unit), *arguments])

    def _parse_struct(self) -> Node:
        self._advance(2)
        items: list[Node] = []
        if not self._match(TokenType.R_PAREN):
            items = self._list(self._parse_expression)
            self._expect(TokenType.R_PAREN)
        return exp.Anonymous(this="struct", expressions=items)


_CALL_FORMS: dict[str, Callable[[FormParser], Node]] = {
    "CAST": FormParser._parse_cast,
    "TRY_CAST": FormParser._parse_cast,
    "CASE": FormParser._parse_case,
    "STRUCT": FormParser._parse_struct,
    "EXTRACT": FormParser._parse_extract,
    "SUBSTR": FormParser._parse_substring,
    "SUBSTRING": FormParser._parse_substring,
    "TRIM": FormParser._parse_trim,
    "OVERLAY": FormParser._parse_overlay,
    "POSITION": FormParser._parse_position,
    **dict.fromkeys(_UNIT_CALLS, FormParser._parse_unit_call),
}
