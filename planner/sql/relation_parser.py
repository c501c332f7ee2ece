"""What stands in FROM: tables and streams with their watermarks, subqueries, VALUES, joins."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokens import TokenType

from .cursor import STOP_WORDS, Node
from .expression_parser import ExpressionParser
from .grammar import JOIN_AND_SET_WORDS
from .nodes import LateralRelation, Pivoted, Sampled, TableFunction, Unpivoted, Watermark

_JOIN_WORDS = frozenset(
    {"JOIN", "CROSS", "INNER", "LEFT", "RIGHT", "FULL", "NATURAL", "SEMI", "ANTI"}
)
# Words that may follow a relation; none of them is its alias unless AS or quotes say so.
_AFTER_RELATION = STOP_WORDS | {"DELAY", "SELECT"}


class RelationParser(ExpressionParser):
    """Reads relations with STREAM, WATERMARK and aliases, and the joins between them."""

    def _parse_from_clause(self, select: Node) -> None:
        start = self._index - 1  # FROM itself
        select.set("from_", self._mark(start, exp.From(this=self._parse_relation())))
        joins = []
        while self._match(TokenType.COMMA):
            joins.append(self._parse_comma_join())
        if joins:
            select.set("joins", joins)

    def _parse_comma_join(self) -> Node:
        start = self._index
        if self._ahead("LATERAL"):
            node = exp.Join(this=self._parse_lateral(), kind="COMMA")
            return self._mark(start, node)
        return exp.Join(this=self._parse_relation(), kind="COMMA")

    def _parse_lateral(self) -> Node:
        start = self._index
        self._expect_word("LATERAL")
        return self._mark(start, LateralRelation(this=self._parse_relation_primary()))

    def _parse_lateral_views(self) -> list[Node]:
        views: list[Node] = []
        while True:
            start = self._index
            if not self._word("LATERAL", "VIEW"):
                return views
            outer = self._word("OUTER")
            function = self._parse_call_of_name(self._parse_disjunction)
            table = self._parse_name()
            columns: list[Node] = []
            if self._word("AS") or self._is_alias():
                columns = self._list(self._parse_name)
            alias = exp.TableAlias(this=table, columns=columns)
            lateral = exp.Lateral(this=function, view=True, outer=outer, alias=alias)
            views.append(self._mark(start, lateral))

    def _parse_call_of_name(self, argument: Callable[[], Node]) -> Node:
        start = self._index
        name = ".".join(part.name for part in self._parse_qualified_name().expressions)
        self._expect(TokenType.L_PAREN)
        arguments: list[Node] = []
        if not self._match(TokenType.R_PAREN):
            arguments = self._list(argument)
            self._expect(TokenType.R_PAREN)
        return self._mark(start, exp.Anonymous(this=name, expressions=arguments))

    def _parse_relation(self) -> Node:
        """A relation with the joins that follow it, left to right."""
        start = self._index
        if self._ahead("LATERAL"):
            self.raise_error("LATERAL subqueries are not supported")
        left = self._parse_relation_primary()
        joins: list[Node] = []
        while True:
            word = self._peek_word()
            if word in _JOIN_WORDS:
                joins.append(self._parse_one_join())
                continue
            if joins:
                left = exp.Paren(this=left) if left.args.get("joins") else left
                left.set("joins", joins)
                joins = []
            if word == "PIVOT":
                left = self._parse_pivot(left)
            elif word == "UNPIVOT":
                left = self._parse_unpivot(start, left)
            else:
                return self._mark(start, left)

    def _parse_one_join(self) -> Node:
        start = self._index
        natural = self._word("NATURAL")
        side = kind = None
        if self._peek_word() in ("LEFT", "RIGHT", "FULL"):
            side = self._peek_word()
            self._advance()
            if not (side == "LEFT" and self._peek_word() in ("SEMI", "ANTI")):
                self._word("OUTER")
        if self._peek_word() in ("CROSS", "INNER", "SEMI", "ANTI"):
            kind = self._peek_word()
            self._advance()
        self._expect_word("JOIN")
        lateral = self._ahead("LATERAL")
        right = self._parse_lateral() if lateral else self._parse_relation_primary()
        join = exp.Join(this=right, side=side, kind=kind)
        if natural:
            join.set("method", "NATURAL")
        if self._word("ON"):
            join.set("on", self._parse_disjunction())
        elif self._word("USING"):
            join.set("using", self._wrapped(lambda: self._list(self._parse_name)))
        return self._mark(start, join)

    def _parse_relation_primary(self) -> Node:
        start = self._index
        if self._curr.token_type == TokenType.L_PAREN:
            if self._is_query_ahead(0) and not self._is_relation_in_parens():
                node = exp.Subquery(this=self._wrapped(self._parse_query))
            else:
                node = exp.Paren(this=self._wrapped(self._parse_relation))
            return self._parse_relation_suffix(start, node)
        if self._ahead("VALUES") and self._peek_type(1) != TokenType.DOT:
            self._advance()
            return self._mark(start, self._parse_values())
        if self._is_stream():
            return self._parse_relation_suffix(start, self._parse_stream_relation())
        if self._curr.token_type in (TokenType.VAR, TokenType.IDENTIFIER):
            return self._parse_named_relation(start)
        self.raise_error("Expected a relation")
        return None

    def _is_relation_in_parens(self) -> bool:
        """Whether a parenthesised query is itself only the first relation of a join."""
        depth, index = 0, self._index
        while index < self._tokens_size:
            kind = self._tokens[index].token_type
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
            if depth == 1 and kind == TokenType.R_PAREN:
                break
            index += 1
        if index + 1 >= self._tokens_size or self._peek_type(1) != TokenType.L_PAREN:
            return False
        token = self._tokens[index + 1]
        word = token.text.upper() if token.token_type == TokenType.VAR else ""
        if token.token_type == TokenType.IDENTIFIER or word == "AS":
            return True
        after_queries = {"UNION", "EXCEPT", "MINUS", "SETMINUS", "INTERSECT", "ORDER", "LIMIT",
                         "OFFSET", "SORT", "CLUSTER", "DISTRIBUTE"}  # fmt: skip
        return bool(word) and word not in after_queries

    def _is_stream(self) -> bool:
        """`STREAM name` or `STREAM(name)`, and not a table called stream."""
        if not self._ahead("STREAM"):
            return False
        following = self._peek_type(1)
        if following in (TokenType.L_PAREN, TokenType.IDENTIFIER):
            return True
        if following != TokenType.VAR:
            return False
        return self._tokens[self._index + 1].text.upper() not in _AFTER_RELATION | {"AS"}

    def _parse_stream_relation(self) -> Node:
        self._advance()
        if self._curr.token_type == TokenType.L_PAREN:
            return exp.Stream(this=self._wrapped(self._parse_table_name))
        return exp.Stream(this=self._parse_table_name())

    def _parse_table_name(self) -> Node:
        start = self._index
        parts = self._parse_qualified_name().expressions
        names = dict(zip(("this", "db", "catalog"), reversed(parts), strict=False))
        return self._mark(start, exp.Table(**names))

    def _parse_named_relation(self, start: int) -> Node:
        offset = 1
        while self._peek_type(offset) == TokenType.DOT:
            offset += 2
        if self._peek_type(offset) == TokenType.L_PAREN:
            function = TableFunction(this=self._parse_call_of_name(self._parse_argument))
            return self._parse_relation_suffix(start, function)
        return self._parse_relation_suffix(start, self._parse_table_name())

    def _parse_relation_suffix(self, start: int, node: Node) -> Node:
        """WATERMARK and the alias; Spark writes the alias last and applies it first."""
        watermark = None
        clause = self._index
        sampled = None if isinstance(node, exp.Stream) else self._parse_sample()
        if sampled is not None:
            sampled.set("this", self._mark(start, node))
            node = self._mark(clause, sampled)
        if self._word("WATERMARK"):
            column = self._parse_watermark_column()
            self._expect_word("DELAY", "OF")
            watermark = (column, self._parse_delay())
        alias = self._parse_relation_alias()
        if alias is not None:
            node.set("alias", alias)
        self._mark(start, node)
        if watermark is not None:
            column, delay = watermark
            node = self._mark(clause, Watermark(this=node, column=column, delay=delay))
        return node

    def _parse_sample(self) -> Node:
        """`TABLESAMPLE (10 PERCENT) REPEATABLE (5)`, or None."""
        if not self._word("TABLESAMPLE"):
            return None
        self._expect(TokenType.L_PAREN)
        sizes: list[Node] = []
        if self._word("BUCKET"):
            sizes.append(self._parse_bitwise())
            self._expect_word("OUT", "OF")
            sizes.append(self._parse_bitwise())
            kind = "BUCKET"
            if self._word("ON"):
                self._parse_qualified_name()
                called = self._match(TokenType.L_PAREN)
                kind = "ON function" if called else "ON colname"
                if called:
                    self._expect(TokenType.R_PAREN)
        elif self._curr.token_type == TokenType.R_PAREN:
            kind = "EMPTY"
        else:
            sizes.append(self._parse_bitwise())
            kind = "PERCENT" if self._word("PERCENT") else "ROWS" if self._word("ROWS") else "BYTES"
        self._expect(TokenType.R_PAREN)
        seed = self._wrapped(self._parse_bitwise) if self._word("REPEATABLE") else None
        return Sampled(kind=kind, sizes=sizes, seed=seed)

    def _parse_pivot(self, node: Node) -> Node:
        start = self._index
        self._expect_word("PIVOT")
        self._expect(TokenType.L_PAREN)
        aggregates = self._list(self._parse_pivoted)
        self._expect_word("FOR")
        columns = self._parse_names()
        self._expect_word("IN")
        values = self._wrapped(lambda: self._list(self._parse_expression))
        self._expect(TokenType.R_PAREN)
        pivoted = Pivoted(this=node, aggregates=aggregates, columns=columns, values=values)
        return self._mark(start, pivoted)

    def _parse_pivoted(self) -> Node:
        """An aggregate, with its name or with FOR behind it."""
        start = self._index
        node = self._parse_disjunction()
        if self._word("AS") or (self._is_alias() and not self._ahead("FOR")):
            return self._mark(start, exp.Alias(this=node, alias=self._parse_name()))
        return node

    def _parse_unpivot(self, start: int, node: Node) -> Node:
        self._expect_word("UNPIVOT")
        nulls = self._word("INCLUDE", "NULLS")
        if not nulls:
            self._word("EXCLUDE", "NULLS")
        self._expect(TokenType.L_PAREN)
        values = self._parse_names()
        self._expect_word("FOR")
        name = self._parse_name()
        self._expect_word("IN")
        columns = self._wrapped(lambda: self._list(self._parse_unpivoted_column))
        self._expect(TokenType.R_PAREN)
        alias = self._parse_relation_alias(with_columns=False)
        pivoted = Unpivoted(
            this=node, values=values, name=name, columns=columns, nulls=nulls, alias=alias
        )
        return self._mark(start, pivoted)

    def _parse_names(self) -> list[Node]:
        if self._curr.token_type == TokenType.L_PAREN:
            names: list[Node] = self._wrapped(lambda: self._list(self._parse_name))
            return names
        return [self._parse_name()]

    def _parse_unpivoted_column(self) -> Node:
        start = self._index
        if self._curr.token_type == TokenType.L_PAREN:
            columns = self._wrapped(lambda: self._list(self._parse_reference))
        else:
            columns = [self._parse_reference()]
        alias = self._parse_name() if self._word("AS") or self._is_alias() else None
        return self._mark(start, exp.Tuple(expressions=columns, alias=alias))

    def _parse_delay(self) -> Node:
        """An interval with its units outside the string: Spark takes no other here."""
        start = self._index
        delay = self._parse_interval()
        if delay is None or not delay.args["units"]:
            self.raise_error("Expected an interval with units")
        return self._mark(start, delay)

    def _parse_watermark_column(self) -> Node:
        start = self._index
        node = self._parse_disjunction()
        if self._word("AS") or (self._is_alias() and not self._ahead("DELAY", "OF")):
            return self._mark(start, exp.Alias(this=node, alias=self._parse_name()))
        return node

    def _parse_relation_alias(self, *, with_columns: bool = True) -> Node:
        # The last word of a text or a bracket begins no clause.
        last = self._peek_type(1) in (None, TokenType.R_PAREN)
        explicit = not last and self._word("AS")
        token = self._curr
        implicit = token.token_type == TokenType.IDENTIFIER or (
            token.token_type == TokenType.VAR
            and (
                self._peek_word() not in (JOIN_AND_SET_WORDS if last else _AFTER_RELATION)
                or (not last and self._is_qualify_a_name())
            )
        )
        if not explicit and not implicit:
            return None
        name = self._parse_name()
        return exp.TableAlias(this=name, columns=self._parse_columns() if with_columns else [])

    def _parse_values(self) -> Node:
        start = self._index
        rows = self._list(self._parse_disjunction)
        return self._mark(start, exp.Values(expressions=rows, alias=self._parse_relation_alias()))
