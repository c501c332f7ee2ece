"""Spark's expression grammar: operators by how tightly they bind, predicates, AND, OR, names."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from ..model.expressions.core import Alias, Expression, Literal
from ..model.expressions.subqueries import Exists, InSubquery, ListQuery
from ..model.expressions.unresolved import MultiAlias, UnresolvedFunction
from ..model.schemas.types import BOOLEAN, STRING
from .primary import PrimaryParser, row_values

# Operators between operands, by how tightly they bind: those of a line alike, from the left.
_OPERATORS: tuple[dict[str, str], ...] = (
    {s: s for s in ("=", "<=>", "<", "<=", ">", ">=")} | {"==": "=", "!=": "!=", "<>": "!="},
    {"|": "|"},
    {"^": "^"},
    {"&": "&"},
    {},  # shifts: signs that are several tokens
    {"+": "+", "-": "-", "||": "concat"},
    {"*": "*", "/": "/", "%": "%", "DIV": "div"},
)
_LEVELS = {sign: level for level, signs in enumerate(_OPERATORS, 1) for sign in signs}
_NAMES = {sign: name for signs in _OPERATORS for sign, name in signs.items()}
_SHIFT = 1 + _OPERATORS.index({})
_UNARY = {"+": "positive", "~": "~", "-": "-"}
_PREDICATES = ("BETWEEN", "IN", "RLIKE", "REGEXP", "LIKE", "ILIKE")
_BEGIN_PREDICATE = frozenset(("IS", "NOT", "!", *_PREDICATES))


class ExpressionParser(PrimaryParser):
    """Reads expressions level by level."""

    def named_expression(self) -> Expression:
        start = self.index
        child = self.expression()
        explicit = self.take("AS")
        if self.token.symbol == "(":
            names = tuple(self.bracketed_list(self.name))
            return MultiAlias(child=child, names=names, origin=self.origin(start))
        if explicit or self.is_alias():
            name = self.plain_name()
            return Alias(child=child, name=name, origin=self.origin(start))
        return child

    # ------------------------------------------------------------------------------------ boolean

    def expression(self) -> Expression:
        return self._chain(self._conjunction, "OR")

    def _conjunction(self) -> Expression:
        return self._chain(self._negation, "AND")

    def _chain(self, operand: Callable[[], Expression], word: str) -> Expression:
        """A chain of AND (or OR) as the balanced tree that Spark's parser makes of it."""
        start = self.tokens[self.index].start
        first = operand()
        if self.token.symbol != word:
            return first
        operands, starts, stops = [first], [start], [self.previous.stop]
        while self.take(word):
            starts.append(self.token.start)
            operands.append(operand())
            stops.append(self.previous.stop)

        def tree(low: int, high: int) -> Expression:
            if low == high:
                return operands[low]
            middle = low + (high - low) // 2
            sides = (tree(low, middle), tree(middle + 1, high))
            origin = self.span(starts[low], stops[high])
            return UnresolvedFunction(name=word.lower(), arguments=sides, origin=origin)

        return tree(0, len(operands) - 1)

    def _negation(self) -> Expression:
        start = self.index
        if self.take_one(("NOT", "!")):
            return self.function(start, "not", self._negation())
        if self.token.symbol == "EXISTS" and self.is_query_ahead(1):
            self.advance()
            plan = self.bracketed(self.query)
            return Exists(plan=plan, origin=self.origin(start))
        left = self.value()
        return self._predicate(left) if self.token.symbol in _BEGIN_PREDICATE else left

    # --------------------------------------------------------------------------------- predicates

    def _predicate(self, left: Expression) -> Expression:
        # Spark places what is wrong with a predicate at its first word, not at its left side.
        start = self.index
        if self.take("IS"):
            return self._is(start, left)
        negated = self._is_negated()
        match self.take_one(_PREDICATES):
            case "BETWEEN":
                low = self.value()
                self.need("AND")
                node: Expression = self.function(start, "between", left, low, self.value())
            case "IN":
                node = self._in(start, left)
            case "RLIKE" | "REGEXP":
                node = self.function(start, "rlike", left, self.value())
            case "LIKE" | "ILIKE" as word:
                return self._like(start, left, word.lower(), negated)
            case _:
                self.move(start)
                return left
        return self.function(start, "not", node) if negated else node

    def _is_negated(self) -> bool:
        """NOT within a predicate; Spark takes no `!` there."""
        place = self.index
        if not self.take("!"):
            return self.take("NOT")
        self.refuse_at("SYNTAX_DISCONTINUED.BANG_EQUALS_NOT", self.origin(place), clause="!")
        return True

    def _is(self, start: int, left: Expression) -> Expression:
        negated = self._is_negated()
        if self.take("DISTINCT", "FROM"):
            right = self.value()
            negated = not negated
        else:
            match self.take_one(("NULL", "UNKNOWN", "TRUE", "FALSE")):
                case "NULL" | "UNKNOWN":
                    return self.function(start, "isnotnull" if negated else "isnull", left)
                case "":
                    self.fail("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
                case word:
                    right = Literal(value=word == "TRUE", type_=BOOLEAN)
        equal = self.function(start, "<=>", left, right)
        return self.function(start, "not", equal) if negated else equal

    def _in(self, start: int, left: Expression) -> Expression:
        # `IN (VALUES (1), (2))` calls a function named so, as in Spark's grammar; `IN ((SELECT 1))`
        # has one value.
        if (
            self.is_query_ahead()
            and self.peek().symbol != "VALUES"
            and not self._is_bracket_in_bracket()
        ):
            plan = self.bracketed(self.query)
            origin = self.origin(start)
            query = ListQuery(plan=plan, origin=origin)
            return InSubquery(values=row_values(left), query=query, origin=origin)
        values = self.optional_list(self.expression)
        if not values:
            return self.refuse_at("INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE", self.origin(start))
        return self.function(start, "in", left, *values)

    def _is_bracket_in_bracket(self) -> bool:
        """Whether brackets hold nothing but brackets: `((...))`."""
        return self.peek().symbol == "(" and self.behind_bracket().symbol == ")"

    def _like(self, start: int, left: Expression, name: str, negated: bool) -> Expression:
        if self.token.symbol in ("ANY", "SOME", "ALL") and self.peek().symbol == "(":
            return self._like_patterns(start, left, name, negated)
        arguments = [left, self.value()]
        if self.take("ESCAPE"):
            place = self.index
            character = self.string()
            arguments.append(Literal(value=character, type_=STRING, origin=self.origin(place)))
            if len(character) != 1:
                self.refuse_at("INVALID_ESC", self.origin(start), invalidEscape=f"'{character}'")
        node = self.function(start, name, *arguments)
        return self.function(start, "not", node) if negated else node

    def _like_patterns(self, start: int, left: Expression, name: str, negated: bool) -> Expression:
        """LIKE ANY and LIKE ALL: one function of constant strings, else a LIKE for each pattern."""
        kind = "likeall" if self.token.symbol == "ALL" else "likeany"
        self.advance()
        patterns = self.optional_list(self.expression)
        if not patterns:
            return self.refuse_at("INVALID_SQL_SYNTAX.EMPTY_QUANTIFIED_PATTERN", self.origin(start))
        if not all(isinstance(p, Literal) and p.type_ == STRING for p in patterns):
            tests = [self.function(start, name, left, pattern) for pattern in patterns]
            if negated:
                tests = [self.function(start, "not", test) for test in tests]
            joint = "and" if kind == "likeall" else "or"
            return reduce(lambda one, other: self.function(start, joint, one, other), tests)
        arguments = [left, *patterns]
        if name == "ilike":
            arguments = [UnresolvedFunction(name="lower", arguments=(one,)) for one in arguments]
        return self.function(start, f"not{kind}" if negated else kind, *arguments)

    # --------------------------------------------------------------------------------- arithmetic

    def value(self) -> Expression:
        return self._above(0)

    def _above(self, level: int) -> Expression:
        """Operands and the operators between them that bind tighter than a level."""
        start = self.index
        left = self._unary()
        while True:
            found, length = self._operator()
            if found <= level:
                return left
            sign = self.token.symbol
            self.advance(length)
            right = self._above(found)
            if found == _SHIFT:
                left = self.function(start, sign * length, left, right)
            elif (name := _NAMES[sign]) == "!=":
                left = self.function(start, "not", self.function(start, "=", left, right))
            else:
                left = self.function(start, name, left, right)

    def _operator(self) -> tuple[int, int]:
        """How tightly the operator that comes next binds, 0 for none, and of how many tokens."""
        sign = self.token.symbol
        if sign in ("<", ">"):
            length = self._shift_length(sign)
            if length > 1:
                return _SHIFT, length
        return _LEVELS.get(sign, 0), 1

    def _shift_length(self, sign: str) -> int:
        """`<<`, `>>` or `>>>`, written as signs without space between them."""
        length = 1
        while length < 3 and self.peek(length).symbol == sign:
            if self.peek(length - 1).stop + 1 != self.peek(length).start:
                break
            length += 1
        return min(length, 2) if sign == "<" else length

    def _unary(self) -> Expression:
        start = self.index
        sign = self.token.symbol
        if sign in _UNARY and not (sign == "-" and self.peek().kind == "number"):
            self.advance()
            return self.function(start, _UNARY[sign], self._unary())
        return self.primary()
