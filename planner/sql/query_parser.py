"""Spark's query grammar: SELECT and its clauses, set operations, WITH."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.tokens import TokenType

from .context import syntax_failure
from .cursor import Node
from .relation_parser import RelationParser

_SET_OPERATIONS = {
    "UNION": exp.Union,
    "EXCEPT": exp.Except,
    "MINUS": exp.Except,
    "SETMINUS": exp.Except,
    "INTERSECT": exp.Intersect,
}


_HINT = re.compile(r"(\w+)\s*(?:\(((?:[^()]|\([^()]*\))*)\))?")
_PARAMETER = re.compile(r"(?:^|(?<=,))\s*((?:[^,()]|\([^()]*\))*)")


def hints_in(comment: str, start: int, sql: str) -> list[Node]:
    """The hints of `/*+ NAME(t, u.v), OTHER */` at `start`, each with its parameters' texts.

    Raises:
        AnalysisError: nothing stands where a parameter belongs.
    """
    hints: list[Node] = []
    for found in _HINT.finditer(comment, 3, len(comment) - 2):
        arguments = []
        for written in [] if found[2] is None else _PARAMETER.finditer(found[2]):
            text = written[1].strip()
            if not text:
                place = start + found.start(2) + written.end()
                raise syntax_failure(f"'{sql[place]}'", sql, place, "Name a parameter there.")
            argument = exp.Identifier(this=text)
            place = start + found.start(2) + written.start(1)
            argument.meta.update(start=place, stop=place + len(text) - 1)
            arguments.append(argument)
        hint = exp.Anonymous(this=found[1], expressions=arguments)
        hint.meta.update(start=start, stop=start + len(comment) - 1)
        hints.append(hint)
    return hints


class StreamingParser(RelationParser):
    """Reads one query of Spark's SQL with its streaming clauses."""

    def _parse_statement(self) -> Node:
        return self._parse_query()

    def _parse_query(self) -> Node:
        """`WITH ...` and a query term with ORDER BY, LIMIT and the like behind it."""
        start = self._index
        definitions = self._parse_definitions() if self._word("WITH") else None
        node = self._parse_organization(self._parse_set_term())
        if definitions is not None:
            if node.args.get("with_"):
                node = exp.Subquery(this=node)
            node.set("with_", definitions)
        return self._mark(start, node)

    def _parse_definitions(self) -> Node:
        start = self._index - 1  # WITH itself
        recursive = self._word("RECURSIVE")
        definitions = self._list(self._parse_definition)
        return self._mark(start, exp.With(expressions=definitions, recursive=recursive))

    def _parse_definition(self) -> Node:
        start = self._index
        name = self._parse_name()
        columns = self._parse_columns()
        self._word("AS")
        alias = exp.TableAlias(this=name, columns=columns)
        return self._mark(start, exp.CTE(this=self._wrapped(self._parse_query), alias=alias))

    def _parse_columns(self) -> list[Node]:
        if self._curr.token_type != TokenType.L_PAREN:
            return []
        names: list[Node] = self._wrapped(lambda: self._list(self._parse_name))
        return names

    # --------------------------------------------------------------------------- set operations

    def _parse_set_term(self) -> Node:
        start = self._index
        left = self._parse_intersection()
        while self._peek_word() in ("UNION", "EXCEPT", "MINUS", "SETMINUS"):
            kind = _SET_OPERATIONS[self._peek_word()]
            self._advance()
            distinct = self._set_option()
            right = self._parse_intersection()
            left = self._mark(start, kind(this=left, expression=right, distinct=distinct))
        return left

    def _parse_intersection(self) -> Node:
        start = self._index
        left = self._parse_query_primary()
        while self._word("INTERSECT"):
            distinct = self._set_option()
            right = self._parse_query_primary()
            left = self._mark(start, exp.Intersect(this=left, expression=right, distinct=distinct))
        return left

    def _set_option(self) -> bool:
        """Whether rows are told apart: not behind ALL. Spark's grammar has no BY NAME."""
        distinct = not self._word("ALL")
        if distinct:
            self._word("DISTINCT")
        return distinct

    def _parse_query_primary(self) -> Node:
        start = self._index
        if self._curr.token_type == TokenType.L_PAREN:
            return self._mark(start, exp.Subquery(this=self._wrapped(self._parse_query)))
        if self._word("SELECT"):
            return self._mark(start, self._parse_select_body())
        if self._word("VALUES"):
            return self._mark(start, self._parse_values())
        if self._word("FROM"):
            return self._mark(start, self._parse_from_first())
        if self._word("TABLE"):
            relation = exp.From(this=self._parse_table_name())
            return self._mark(start, exp.Select(expressions=[exp.Star()], from_=relation))
        self.raise_error("Expected a query")
        return None

    def _parse_from_first(self) -> Node:
        """`FROM t SELECT a WHERE b`."""
        source = exp.Select()
        self._parse_from_clause(source)
        laterals = self._parse_lateral_views()
        self._expect_word("SELECT")
        select = self._parse_select_body()
        for name in ("from_", "joins"):
            if source.args.get(name):
                select.set(name, source.args[name])
        if laterals:
            select.set("laterals", [*laterals, *select.args.get("laterals", [])])
        return select

    def _parse_organization(self, node: Node) -> Node:
        """ORDER BY, SORT BY, LIMIT, OFFSET behind a whole query term."""
        clauses: dict[str, Node] = {}
        start = self._index
        if self._word("ORDER", "BY"):
            order = exp.Order(expressions=self._list(self._parse_ordered))
            clauses["order"] = self._mark(start, order)
        if self._word("CLUSTER", "BY"):
            clauses["cluster"] = exp.Cluster(expressions=self._list(self._parse_disjunction))
        if self._word("DISTRIBUTE", "BY"):
            clauses["distribute"] = exp.Distribute(expressions=self._list(self._parse_disjunction))
        if self._word("SORT", "BY"):
            sort = exp.Sort(expressions=self._list(self._parse_ordered))
            clauses["sort"] = self._mark(start, sort)
        if self._word("WINDOW"):
            clauses["windows"] = self._list(self._parse_named_window)
        if self._word("LIMIT") and not self._word("ALL"):
            clauses["limit"] = exp.Limit(expression=self._parse_disjunction())
        if self._word("OFFSET"):
            clauses["offset"] = exp.Offset(expression=self._parse_disjunction())
        if clauses and any(node.args.get(name) for name in (*clauses, "with_")):
            node = exp.Subquery(this=node)
        for name, clause in clauses.items():
            node.set(name, clause)
        return node

    # ------------------------------------------------------------------------------------ SELECT

    def _parse_select_body(self) -> Node:
        select = exp.Select()
        hints: list[Node] = []
        while self._curr and self._curr.token_type == TokenType.HINT:
            hints.extend(hints_in(self._curr.text, self._curr.start, self.sql))
            self._advance()
        if hints:
            select.set("hint", exp.Hint(expressions=hints))
        if distinct := self._parse_select_quantifier():
            select.set("distinct", distinct)
        select.set("expressions", self._list(self._parse_expression))
        if self._word("FROM"):
            self._parse_from_clause(select)
        laterals = self._parse_lateral_views()
        if laterals:
            select.set("laterals", [*select.args.get("laterals", []), *laterals])
        if self._word("WHERE"):
            select.set("where", exp.Where(this=self._parse_disjunction()))
        start = self._index
        if self._word("GROUP", "BY"):
            select.set("group", self._mark(start, self._parse_grouping()))
        if self._word("HAVING"):
            select.set("having", exp.Having(this=self._parse_disjunction()))
        if self._word("WINDOW"):
            select.set("windows", self._list(self._parse_named_window))
        if self._word("QUALIFY"):
            select.set("qualify", exp.Qualify(this=self._parse_disjunction()))
        return select

    def _parse_select_quantifier(self) -> Node:
        """DISTINCT, and `DISTINCT ON (keys)`, which means streaming deduplication here."""
        following = self._peek_type(1)
        if following in (TokenType.COMMA, TokenType.DOT, None) or self._ahead("DISTINCT", "FROM"):
            return None
        if self._word("DISTINCT"):
            if self._ahead("ON") and self._peek_type(1) == TokenType.L_PAREN:
                self._advance()
                return self._parse_deduplication()
            return exp.Distinct()
        self._word("ALL")
        return None

    def _parse_deduplication(self) -> Node:
        keys = self._wrapped(lambda: self._list(self._parse_disjunction))
        within = self._word("WITHIN", "WATERMARK")
        distinct = exp.Distinct(on=exp.Tuple(expressions=keys))
        distinct.meta["within_watermark"] = within
        return distinct

    def _parse_grouping(self) -> Node:
        if self._ahead("ALL") and not self._is_continued(1):
            return exp.Group(expressions=[self._parse_disjunction()])
        items = self._list(self._parse_grouping_item)
        group = exp.Group(expressions=items)
        if self._word("WITH", "ROLLUP"):
            group = exp.Group(expressions=[exp.Rollup(expressions=items)])
        elif self._word("WITH", "CUBE"):
            group = exp.Group(expressions=[exp.Cube(expressions=items)])
        elif self._word("GROUPING", "SETS"):
            sets = self._wrapped(lambda: self._list(self._parse_grouping_set))
            keys = exp.Tuple(expressions=items)
            group = exp.Group(expressions=[exp.GroupingSets(expressions=sets, keys=keys)])
        return group

    def _is_continued(self, offset: int) -> bool:
        return self._peek_type(offset) in (TokenType.DOT, TokenType.L_PAREN, TokenType.COMMA)

    def _parse_grouping_item(self) -> Node:
        word = self._peek_word()
        if word in ("CUBE", "ROLLUP") and self._peek_type(1) == TokenType.L_PAREN:
            self._advance()
            sets = self._wrapped(lambda: self._list(self._parse_grouping_set))
            return (exp.Cube if word == "CUBE" else exp.Rollup)(expressions=sets)
        if self._ahead("GROUPING", "SETS") and self._peek_type(2) == TokenType.L_PAREN:
            self._advance(2)
            sets = self._wrapped(lambda: self._list(self._parse_grouping_item_or_set))
            return exp.GroupingSets(expressions=sets)
        return self._parse_disjunction()

    def _parse_grouping_item_or_set(self) -> Node:
        if self._peek_word() in ("CUBE", "ROLLUP", "GROUPING"):
            return self._parse_grouping_item()
        return self._parse_grouping_set()

    def _parse_grouping_set(self) -> Node:
        """`(a, b)`, `()` or one expression."""
        if self._match_pair(TokenType.L_PAREN, TokenType.R_PAREN):
            return exp.Tuple(expressions=[])
        return self._parse_disjunction()

    def _parse_named_window(self) -> Node:
        name = self._parse_name()
        self._expect_word("AS")
        window = self._parse_over(None)
        return exp.Alias(this=window, alias=name)
