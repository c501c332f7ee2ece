"""What stands in FROM: tables, streams, subqueries, VALUES and functions, and their joins."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from ..model.expressions.core import Alias, Expression, Literal, Origin
from ..model.expressions.subqueries import LateralJoin, LateralSubquery
from ..model.expressions.unresolved import UnresolvedAttribute
from ..model.plans.join_types import join_type_of
from ..model.plans.logical import EventTimeWatermark, Generate, Join
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import (
    UNNAMED,
    OneRowRelation,
    SubqueryAlias,
    UnresolvedInlineTable,
    UnresolvedRelation,
    UnresolvedTableFunction,
)
from ..model.schemas.types import YearMonthIntervalType
from ..model.settings.conf import Conf
from ..model.text.quoting import to_sql_join
from ..model.text.text import pretty
from .calls import identifier
from .cursor import CLAUSE_WORDS, JOIN_AND_SET_WORDS
from .errors import negative_delay
from .primary import row_values
from .table_clauses import TableClauseParser, local_relation
from .tokens import Token

JOIN_WORDS = frozenset(
    {"JOIN", "CROSS", "INNER", "LEFT", "RIGHT", "FULL", "NATURAL", "SEMI", "ANTI"}
)
_NOT_LATERAL = ("RightOuter", "FullOuter", "LeftSemi", "LeftAnti")
# Words that may follow a relation; none of them is its alias unless AS or quotes say so.
_AFTER_RELATION = CLAUSE_WORDS | {"DELAY"}
_AFTER_QUERY_IN_BRACKETS = frozenset(
    ("UNION", "EXCEPT", "MINUS", "SETMINUS", "INTERSECT", "ORDER", "LIMIT", "OFFSET", "SORT",
     "CLUSTER", "DISTRIBUTE")
)  # fmt: skip


class RelationParser(TableClauseParser):
    """Reads relations and the joins between them."""

    def __init__(self, text: str, tokens: list[Token], conf: Conf) -> None:
        super().__init__(text, tokens, conf)
        self.watermarks: Iterator[int] = count()

    def from_clause(self) -> LogicalPlan:
        """FROM with its relations; without FROM one row."""
        start = self.index
        if not self.take("FROM"):
            return OneRowRelation()
        self.take("LATERAL")  # without a relation before it, it means nothing
        plan = self._relation(start)
        while self.take(","):
            place = self.index
            if self.token.symbol == "LATERAL":
                query = self._lateral()
                plan = LateralJoin(
                    child=plan, query=query, join_type="Inner", origin=self.origin(place)
                )
            else:
                right = self._relation_primary(start)
                plan = Join(left=plan, right=right, join_type="Inner", origin=self.origin(start))
            # As in Spark, `a, b JOIN c` joins c with what stands before it, not with b alone.
            plan = self._extended(plan, place)
        return plan

    def _relation(self, clause: int | None = None) -> LogicalPlan:
        """A relation with the joins behind it.

        Args:
            clause: where the clause begins that it belongs to.
        """
        start = self.index
        return self._extended(self._relation_primary(clause), start)

    def _extended(self, plan: LogicalPlan, start: int) -> LogicalPlan:
        """A relation with what follows it, from the left: joins, PIVOT and UNPIVOT."""
        while True:
            match self.token.symbol:
                case "PIVOT" | "UNPIVOT":
                    plan = self.turned(start, plan)
                case word if word in JOIN_WORDS:
                    plan = self.join(plan)
                case _:
                    return plan

    def turned(self, start: int, plan: LogicalPlan) -> LogicalPlan:
        """PIVOT or UNPIVOT, which comes next, with its alias; the relation begins at `start`."""
        is_pivot = self.token.symbol == "PIVOT"
        plan = self.pivot(plan) if is_pivot else self.unpivot(start, plan)
        return self._aliased(plan, start, with_columns=False)

    # -------------------------------------------------------------------------------------- joins

    def join(self, left: LogicalPlan) -> LogicalPlan:
        """A join, whose words come next, of what stands before it."""
        start = self.index
        natural = self.take("NATURAL")
        side = self.take_one(("LEFT", "RIGHT", "FULL"))
        if side and not (side == "LEFT" and self.token.symbol in ("SEMI", "ANTI")):
            self.take("OUTER")
        kind = self.take_one(("CROSS", "INNER", "SEMI", "ANTI"))
        join_type = join_type_of(side + kind or "INNER")
        if join_type is None:
            self.move(self.index - 1)
            self.fail("JOIN")
        self.need("JOIN")
        if self.token.symbol == "LATERAL":
            query = self._lateral()
            condition = self.expression() if not natural and self.take("ON") else None
            origin = self.origin(start)
            if join_type in _NOT_LATERAL:
                joined = to_sql_join(join_type)
                self.refuse_at("INVALID_LATERAL_JOIN_TYPE", origin, joinType=joined)
            return LateralJoin(
                child=left, query=query, join_type=join_type, condition=condition, origin=origin
            )
        right = self._relation_primary(start)
        condition, using = None, []
        if not natural and self.take("ON"):
            condition = self.expression()
        elif not natural and self.take("USING"):
            using = self.bracketed_list(self.name)
        return Join(
            left=left,
            right=right,
            join_type=join_type,
            condition=condition,
            using=tuple(using),
            natural=natural,
            origin=self.origin(start),
        )

    def _lateral(self) -> LateralSubquery:
        start = self.index
        self.need("LATERAL")
        can_refer = self.token.symbol == "(" or (self._is_call() and not self._is_stream())
        plan = self._relation_primary()
        origin = self.origin(start)
        if not can_refer:
            self.refuse_at(
                "INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC", origin
            )
        return LateralSubquery(plan=plan, origin=origin)

    def lateral_views(self, plan: LogicalPlan) -> LogicalPlan:
        """The views behind a relation, each over the one before."""
        start = self.index
        while self.take("LATERAL", "VIEW"):
            outer = self.take("OUTER")
            place = self.index
            generator = self.call(place, ".".join(self.qualified_name()))
            alias = self.name()
            columns: list[str] = []
            if self.take("AS") or self.is_alias():
                columns = self.listed(self.name)
            plan = Generate(
                child=plan,
                generator=generator,
                outer=outer,
                generated=tuple(UnresolvedAttribute(parts=(name,)) for name in columns),
                alias=alias.lower(),
                origin=self.origin(start),
            )
            start = self.index
        return plan

    # --------------------------------------------------------------------------- single relations

    def _relation_primary(self, clause: int | None = None) -> LogicalPlan:
        start = self.index
        if self.token.symbol == "(":
            return self._in_parentheses(start)
        if self.token.symbol == "VALUES" and self.peek().symbol != ".":
            self.advance()
            return self.inline_table()
        if self._is_stream():
            return self._stream(start, clause)
        if self._is_call():
            return self._table_function(start)
        parts = self.qualified_name()
        table = UnresolvedRelation(parts=parts, origin=self.origin(start))
        return self._suffixes_of(table, start, self.index)

    def table(self) -> LogicalPlan:
        """`TABLE t`, behind TABLE."""
        start = self.index
        return UnresolvedRelation(parts=self.qualified_name(), origin=self.origin(start))

    def _in_parentheses(self, start: int) -> LogicalPlan:
        if not self.is_query_ahead() or self._is_query_a_relation():
            return self._suffixes_of(self.bracketed(self._relation), start)
        return self._suffixes_of(self.bracketed(self.query), start, is_query=True)

    def _is_query_a_relation(self) -> bool:
        """Whether a query in two brackets is only the first relation of a join: `((..) a JOIN b)`.

        Then a name or a word that follows no query comes behind the inner bracket.
        """
        if self.peek().symbol != "(":
            return False
        token = self.behind_bracket()
        return token.is_name and token.symbol not in _AFTER_QUERY_IN_BRACKETS

    def _is_stream(self) -> bool:
        """`STREAM name` or `STREAM(name)`, and not a table called stream."""
        if self.token.symbol != "STREAM":
            return False
        following = self.peek()
        if following.symbol == "(" or following.kind == "quoted":
            return True
        return following.is_name and following.symbol not in _AFTER_RELATION | {"AS"}

    def _stream(self, start: int, clause: int | None) -> LogicalPlan:
        self.need("STREAM")
        in_brackets = self.token.symbol == "("
        read = self.qualified_name
        parts = self.bracketed(read) if in_brackets else read()
        place = self.index
        watermark = self._watermark()
        alias = self._alias()
        origin = self.origin(start)
        plan: LogicalPlan = UnresolvedRelation(parts=parts, streaming=True, origin=origin)
        if alias is not None:
            # As in Spark, at the clause that the stream belongs to.
            if watermark is None and clause is not None:
                origin = self.origin(clause)
            name, columns = alias
            plan = SubqueryAlias(child=plan, alias=name, columns=columns, origin=origin)
        return self._with_watermark(plan, watermark, place)

    def _is_call(self) -> bool:
        offset = 1
        while self.peek(offset).symbol == ".":
            offset += 2
        return self.peek(offset).symbol == "("

    def _table_function(self, start: int) -> LogicalPlan:
        name = ".".join(self.qualified_name())
        arguments = self.optional_list(self.argument)
        origin = self.origin(start)
        plan: LogicalPlan = UnresolvedTableFunction(
            name=name, arguments=tuple(arguments), origin=origin
        )
        if name.upper() == "IDENTIFIER" and (parts := identifier(arguments)):
            plan = UnresolvedRelation(parts=parts, origin=origin)
        return self._suffixes_of(plan, start, sampled=False)

    def _suffixes_of(
        self,
        plan: LogicalPlan,
        start: int,
        stop: int | None = None,
        *,
        is_query: bool = False,
        sampled: bool = True,
    ) -> LogicalPlan:
        """TABLESAMPLE, WATERMARK and the alias; Spark writes the alias last and applies it first.

        Args:
            plan: what they belong to.
            start: where that begins.
            stop: where it ends, if the alias is placed there; else it is placed with the alias.
            is_query: it is a query, which has a name of Spark's if it has none of its own.
            sampled: TABLESAMPLE may follow it.
        """
        place = self.index
        if sampled and self.token.symbol == "TABLESAMPLE":
            if is_query:
                plan = SubqueryAlias(child=plan, alias=UNNAMED)
            plan = self.sample(plan)
            start, stop = place, self.index
            is_query = False
        clause = self.index
        watermark = self._watermark()
        alias = self._alias()
        if alias is not None:
            last = self.index if stop is None else stop
            origin = self.span(self.tokens[start].start, self.tokens[last - 1].stop)
            name, columns = alias
            plan = SubqueryAlias(child=plan, alias=name, columns=columns, origin=origin)
        elif is_query:
            plan = SubqueryAlias(child=plan, alias=UNNAMED)
        return self._with_watermark(plan, watermark, clause)

    def _aliased(self, plan: LogicalPlan, start: int, *, with_columns: bool) -> LogicalPlan:
        alias = self._alias(with_columns=with_columns)
        if alias is None:
            return plan
        name, columns = alias
        origin = self.origin(start)
        return SubqueryAlias(child=plan, alias=name, columns=columns, origin=origin)

    def _alias(self, *, with_columns: bool = True) -> tuple[str, tuple[str, ...]] | None:
        """A relation's name and those of its columns, or None."""
        if not self.take("AS") and not self.is_alias(_AFTER_RELATION):
            return None
        if self.token.kind == "word" and self.token.text.upper() in JOIN_AND_SET_WORDS:
            self.fail("a name")
        name = self.name()
        columns = with_columns and self.token.symbol == "("
        return name, tuple(self.bracketed_list(self.name)) if columns else ()

    # ---------------------------------------------------------------------------------- watermark

    def _watermark(self) -> tuple[Expression, Expression] | None:
        """`WATERMARK column DELAY OF INTERVAL ...`, or None."""
        if not self.take("WATERMARK"):
            return None
        start = self.index
        column = self.expression()
        if self.take("AS") or (self.is_alias() and not self.ahead("DELAY", "OF")):
            column = Alias(child=column, name=self.name(), origin=self.origin(start))
        self.need("DELAY", "OF")
        if self.token.symbol != "INTERVAL":
            self.fail("INTERVAL")
        delay = self.interval()
        # Spark takes no interval with its units in the string here.
        if delay is None or self.previous.kind != "word":
            self.fail("a unit such as SECONDS, MINUTES, HOURS or DAYS")
        return column, delay

    def _with_watermark(
        self, plan: LogicalPlan, watermark: tuple[Expression, Expression] | None, clause: int
    ) -> LogicalPlan:
        if watermark is None:
            return plan
        column, delay = watermark
        whole = delay.value if isinstance(delay, Literal) and isinstance(delay.value, int) else 0
        months = isinstance(delay.data_type, YearMonthIntervalType)
        amount = (whole, 0, 0) if months else (0, 0, whole)
        if whole < 0:
            self.refuse(negative_delay(pretty(delay)))
        number, origin = next(self.watermarks), self.origin(clause)
        return EventTimeWatermark.of(plan, column, amount, number, origin=origin)

    # ------------------------------------------------------------------------------------- VALUES

    def inline_table(self) -> LogicalPlan:
        """`(1, 'a'), (2, 'b') AS t(x, y)`, behind VALUES."""
        start = self.index
        rows = tuple(row_values(row) for row in self.listed(self.expression))
        alias = self._alias()
        names = alias[1] if alias else ()
        names = names or tuple(f"col{i + 1}" for i in range(len(rows[0])))
        origin: Origin = self.origin(start)
        table = local_relation(names, rows) or UnresolvedInlineTable(
            names=names, rows=rows, origin=origin
        )
        return SubqueryAlias(child=table, alias=alias[0]) if alias else table
