"""Primary expressions: columns, calls, parentheses, lambdas, CASE, fields and elements."""

from __future__ import annotations

from ..model.expressions.core import (
    Alias,
    CaseWhen,
    Cast,
    EvalMode,
    Expression,
    LambdaFunction,
    Literal,
    lit,
    without_alias,
)
from ..model.expressions.subqueries import ScalarSubquery
from ..model.expressions.unresolved import (
    MultiAlias,
    UnresolvedAttribute,
    UnresolvedExtractValue,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
    UnresolvedStar,
)
from ..model.schemas.types import STRING
from .calls import CallParser
from .cursor import QUERY_WORDS
from .errors import unsupported

_AFTER_QUERIES = frozenset(
    (")", "UNION", "EXCEPT", "MINUS", "INTERSECT", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE",
     "WINDOW", "LIMIT", "OFFSET", "|>")
)  # fmt: skip


class PrimaryParser(CallParser):
    """Reads what operators stand between."""

    def primary(self) -> Expression:
        """A primary expression with the fields, elements and casts behind it."""
        start = self.index
        node = self._primary()
        while True:
            if self.take("["):
                index = self.value()
                self.need("]")
                origin = self.origin(start)
                node = UnresolvedExtractValue(child=node, extraction=index, origin=origin)
            elif self.take("."):
                node = self._field(start, node)
            elif self.take("::"):
                kind = self.data_type()
                mode: EvalMode = "ANSI" if self.conf.ansi else "LEGACY"
                node = Cast(child=node, type_=kind, mode=mode, origin=self.origin(start))
            elif self.token.symbol == ":" and self.peek().is_name:
                self.advance(2)
                node = self.refuse(unsupported("The operator `:`", self.origin(start)))
            elif self.take("COLLATE"):
                self.name()
                node = self.refuse(unsupported("COLLATE", self.origin(start)))
            else:
                return node

    def _field(self, start: int, node: Expression) -> Expression:
        name = self.name()
        origin = self.origin(start)
        if isinstance(node, UnresolvedAttribute):
            return UnresolvedAttribute(parts=(*node.parts, name), origin=origin)
        field = Literal(value=name, type_=STRING)
        return UnresolvedExtractValue(child=node, extraction=field, origin=origin)

    def _primary(self) -> Expression:
        if (constant := self.constant()) is not None:
            return constant
        symbol = self.token.symbol
        if symbol == "*":
            return self._star(self.index, ())
        if symbol == "(":
            return self._in_brackets()
        if symbol == "CASE" and (case := self.attempt(self._case)) is not None:
            return case
        if not self.token.is_name:
            self.fail("an expression")
        if (call := self.keyword_call()) is not None:
            return call
        return self._reference()

    def _star(self, start: int, target: tuple[str, ...]) -> Expression:
        self.need("*")
        excluded: list[tuple[str, ...]] = []
        if self.ahead("EXCEPT", "("):
            self.advance()
            excluded = self.bracketed_list(self.qualified_name)
        return UnresolvedStar(
            target=target, except_names=tuple(excluded), origin=self.origin(start)
        )

    def _reference(self) -> Expression:
        """A column, a call, `t.*`, or a lambda of one parameter."""
        start = self.index
        if self.peek().symbol == "->":
            return self._lambda(start, [self.name()])
        parts = [self.name()]
        while self.token.symbol == ".":
            if self.peek().symbol == "*":
                self.advance()
                return self._star(start, tuple(parts))
            if not self.peek().is_name:
                break
            self.advance()
            parts.append(self.name())
        if self.token.symbol == "(":
            return self.call(start, ".".join(parts))
        return UnresolvedAttribute(parts=tuple(parts), origin=self.origin(start))

    def _lambda(self, start: int, names: list[str]) -> Expression:
        self.need("->")
        # Any name in the body may be a parameter.
        body = self.expression().transform_up(_as_variable)
        parameters = tuple(UnresolvedLambdaVariable(parts=(name,)) for name in names)
        return LambdaFunction(body=body, parameters=parameters, origin=self.origin(start))

    def _case(self) -> Expression | None:
        start = self.index
        if self.peek().symbol in (",", ")", ".") or self.peek().kind == "end":
            return None
        self.need("CASE")
        operand = None if self.ahead("WHEN") else self.expression()
        conditions: list[Expression] = []
        values: list[Expression] = []
        if not self.ahead("WHEN"):
            self.fail("WHEN")
        while self.take("WHEN"):
            conditions.append(self.expression())
            self.need("THEN")
            values.append(self.expression())
        otherwise = self.expression() if self.take("ELSE") else None
        self.need("END")
        origin = self.origin(start)
        if operand is not None:
            conditions = [
                UnresolvedFunction(name="=", arguments=(operand, value), origin=origin)
                for value in conditions
            ]
        return CaseWhen(
            conditions=tuple(conditions), values=tuple(values), otherwise=otherwise, origin=origin
        )

    # -------------------------------------------------------------------------------- parentheses

    def _in_brackets(self) -> Expression:
        """A lambda, a query, a row, or an expression."""
        start = self.index
        if (found := self.attempt(self._lambda_in_brackets)) is not None:
            return found
        if self.is_query_ahead():
            plan = self.bracketed(self.query)
            return ScalarSubquery(plan=plan, origin=self.origin(start))
        self.need("(")
        items = self.listed(self.named_expression)
        if len(items) == 1:
            if isinstance(items[0], Alias | MultiAlias):
                self.fail("a comma")
            self.need(")")
            return items[0]
        self.need(")")
        fields: list[Expression] = []
        for position, value in enumerate(items, start=1):
            fields += [lit(_field_name(value, position)), without_alias(value)]
        return self.function(start, "named_struct", *fields)

    def _lambda_in_brackets(self) -> Expression | None:
        """`(x, y) -> body`."""
        start = self.index
        self.advance()
        names: list[str] = []
        while self.token.is_name:
            names.append(self.name())
            if not self.take(","):
                break
        if not names or not self.take(")") or not self.ahead("->"):
            return None
        return self._lambda(start, names)

    def is_query_ahead(self, offset: int = 0) -> bool:
        """Whether a parenthesis opens there and a query follows it."""
        if self.peek(offset).symbol != "(":
            return False
        first = index = self.index + offset + 1
        while self.tokens[index].symbol == "(":
            index += 1
        return self._begins_query(index) and self._is_query_around(index, index - first)

    def _begins_query(self, index: int) -> bool:
        word = self.tokens[index].symbol
        if word not in QUERY_WORDS:
            return False
        following = self.tokens[index + 1]
        if word in ("FROM", "TABLE"):
            return following.is_name or (word == "FROM" and following.symbol == "(")
        if word == "VALUES":
            return following.symbol == "(" or following.kind in ("number", "string")
        return following.symbol not in (")", ",", ".") and following.kind != "end"

    def _is_query_around(self, index: int, brackets: int) -> bool:
        """Whether all the brackets before a query hold queries: `((SELECT 1))`, not
        `((SELECT 1) + 1)`."""
        depth = brackets
        while depth and self.tokens[index].kind != "end":
            symbol = self.tokens[index].symbol
            if symbol == "(":
                brackets += 1
            elif symbol == ")":
                brackets -= 1
                if brackets < depth:
                    following = self.tokens[index + 1]
                    if following.kind != "end" and following.symbol not in _AFTER_QUERIES:
                        return False
                    depth -= 1
            index += 1
        return True


def row_values(value: Expression) -> tuple[Expression, ...]:
    """The values of `(a, b)`; of anything else the value itself."""
    match value:
        case UnresolvedFunction(name="named_struct", arguments=fields, origin=origin):
            if origin is not None and origin.source[origin.start] == "(":
                return fields[1::2]
    return (value,)


def _field_name(value: Expression, position: int) -> str:
    """The name of a row's field: the column's or alias's own, else by position."""
    if isinstance(value, UnresolvedAttribute):
        return value.parts[-1]
    return value.name if isinstance(value, Alias) else f"col{position}"


def _as_variable(node: Expression) -> Expression:
    if isinstance(node, UnresolvedAttribute):
        return UnresolvedLambdaVariable(parts=node.parts, origin=node.origin)
    return node
