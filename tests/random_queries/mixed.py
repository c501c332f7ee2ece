"""Random mixes of types: casts of all into all, operators and functions over any of them."""

from __future__ import annotations

from .asked import AskingQueries
from .catalog import Column
from .expressions import NESTED
from .grouped import Made
from .relations import Relation
from .templates import AGGREGATES, COMPOUND, CONDITIONS, NUMBERS, STRINGS, TIMES

TYPES = (
    "STRING",
    "INT",
    "BIGINT",
    "DOUBLE",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "DECIMAL(10,2)",
    "FLOAT",
    "SMALLINT",
    "TINYINT",
    "DECIMAL(20,0)",
    "DECIMAL(4,3)",
    "BINARY",
    "TIMESTAMP_NTZ",
    "VARCHAR(5)",
    "CHAR(3)",
    "INTERVAL DAY TO SECOND",
    "INTERVAL YEAR TO MONTH",
    "ARRAY<STRING>",
    "ARRAY<BIGINT>",
    "MAP<STRING, STRING>",
    "STRUCT<a: STRING, b: STRING>",
)
LITERALS = (
    "1",
    "'a'",
    "NULL",
    "0",
    "-1",
    "1.5",
    "2.0D",
    "1L",
    "true",
    "'1'",
    "'2026-01-01'",
    "DATE '2026-01-01'",
    "TIMESTAMP '2026-01-01 10:00:00'",
    "INTERVAL '1' DAY",
    "INTERVAL 2 HOURS",
    "300",
    "3000000000",
    "1e3",
    "0.10BD",
    "1S",
    "1Y",
    "''",
    "X'00'",
    "TIMESTAMP_NTZ '2026-01-01 10:00:00'",
    "1.25F",
    "array(1, 2)",
    "CAST(NULL AS INT)",
    "false",
    "1000.00",
)
OPERATORS = ("=", ">", "<=", "<>", "<=>", "+", "-", "*", "/", "%", "||", "<", ">=", "&", "div")
_ALL = (*STRINGS, *NUMBERS, *CONDITIONS, *TIMES, *COMPOUND, *NESTED, *AGGREGATES)


class MixedQueries(AskingQueries):
    """Queries whose values have types that do not, or hardly, fit."""

    def casts(self) -> Made:
        """Values of mixed types in a SELECT, a WHERE, as keys, below aggregates, in joins."""
        name = self.choices.pick("wide", "stats", "deep", "wide", "readings")
        relation = self.plain(self.stream(name, watermark=0.3))
        place = self.choices.weighted(
            [(6, "select"), (4, "where"), (2, "key"), (2, "aggregate"), (1, "joined"), (2, "above")]
        )
        mode = self.choices.pick("update", "complete", "append")
        shown = self.write.reference(self.write.column(relation.columns))
        if place == "select":
            items = [self._as_code(self._mixed(relation)) for _ in range(1 + self.choices.below(3))]
            return self.select(relation, items), "append"
        if place == "where":
            condition = self._as_code(self._test(relation))
            if self.python:
                return f"{relation.text}.where({condition}).select({shown})", "append"
            return self.select(relation, [shown], f" WHERE {condition}"), "append"
        if place == "key":
            key = self.write.named(self._as_code(self._mixed(relation)), "k")
            by = None if self.python else "1"
            return self.grouped(relation, [key], self.aggregates(relation, 2), by=by), mode
        if place == "aggregate":
            function = self.choices.pick("sum", "max", "avg", "min", "count", "collect_set")
            value = self._as_code(f"{function}({self._mixed(relation)})")
            return self.grouped(relation, [shown], [self.write.named(value, "v")]), mode
        if place == "joined":
            return self._mixed_join(relation), "append"
        return self._tested_above(relation), "append"

    def _as_code(self, text: str) -> str:
        if not self.python:
            return text
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'F.expr("{quoted}")'

    def _column(self, relation: Relation) -> str:
        return self.choices.one_of(relation.columns).reference

    def _value(self, relation: Relation) -> str:
        if self.choices.chance(0.35):
            return self.choices.one_of(LITERALS)
        if self.choices.chance(0.15):
            return self._cast(relation, self._column(relation))
        return self._column(relation)

    def _cast(self, relation: Relation, value: str) -> str:
        goal = self.choices.one_of(TYPES)
        return self.choices.weighted(
            [
                (6, f"CAST({value} AS {goal})"),
                (3, f"try_cast({value} AS {goal})"),
                (1, f"{value}::{goal}"),
                (1, f"CAST(CAST({value} AS {goal}) AS {self.choices.one_of(TYPES)})"),
                (
                    1,
                    f"{self.choices.pick('int', 'string', 'date', 'double')}({value})",
                ),
            ]
        )

    def _mixed(self, relation: Relation) -> str:
        """A value of whatever type."""
        one, two, three = (self._value(relation) for _ in range(3))
        cast = self._cast(relation, one)
        return self.choices.weighted(
            [
                (8, cast),
                (8, f"{one} {self.choices.one_of(OPERATORS)} {two}"),
                (1, f"CASE WHEN {self._test(relation)} THEN {one} ELSE {two} END"),
                (1, f"CASE {one} WHEN {two} THEN {three} END"),
                (1, f"coalesce({one}, {two}, {three})"),
                (1, f"nullif({one}, {two})"),
                (1, f"if({one} IS NULL, {two}, {three})"),
                (1, f"greatest({one}, {two})"),
                (1, f"array({one}, {two})"),
                (1, f"map({one}, {two})"),
                (1, f"struct({one}, {two}, {three})"),
                (1, f"concat({one}, {two})"),
                (1, f"nvl2({one}, {two}, {three})"),
                (1, f"-{one}"),
                (1, f"round({one}, 1)"),
                (1, f"abs({one})"),
                (1, f"array_contains(array({one}), {two})"),
                (1, f"concat_ws('-', {one}, {two})"),
                (1, f"ifnull({one}, {two})"),
            ]
        )

    def _test(self, relation: Relation) -> str:
        """A condition between values of whatever types."""
        one, two, three = (self._value(relation) for _ in range(3))
        literal = self.choices.one_of(LITERALS)
        comparison = self.choices.one_of(OPERATORS[:5])
        return self.choices.weighted(
            [
                (4, f"{one} {comparison} {two}"),
                (4, f"{self._cast(relation, one)} {comparison} {literal}"),
                (3, f"{one} {comparison} {literal}"),
                (2, f"{one} IN ({two}, {three})"),
                (1, f"{one} BETWEEN {two} AND {three}"),
                (1, f"{one} NOT IN ({literal}, {two})"),
                (1, f"{one} IS NOT NULL AND {one} {comparison} {literal}"),
                (1, f"coalesce({one} {comparison} {literal}, false)"),
                (1, f"NOT ({one} {comparison} {literal})"),
                (1, f"({one} {comparison} {literal} OR {two} IS NULL)"),
                (1, f"{one} IS DISTINCT FROM {two}"),
                (1, f"({one}, {two}) = ({literal}, {three})"),
                (1, f"{self._cast(relation, one)}"),
            ]
        )

    def _mixed_join(self, relation: Relation) -> str:
        left, right = self._under(relation, "l"), self.table(alias="r")
        one, two = self._column(left), self._column(right)
        condition = f"{one} = {two}"
        if self.choices.chance(0.5):
            condition += f" AND {self._test(left)}"
        how = self.choices.pick("inner", "left_outer", "left_semi", "left_anti")
        text = self._join_text(left.text, right.text, how, condition.replace('"', '\\"'))
        return self.select(
            Relation(text=text, columns=left.columns), [self.write.reference(left.columns[0])]
        )

    def _tested_above(self, relation: Relation) -> str:
        """A value named below and tested above."""
        inner = self.select(relation, [self.write.named(self._as_code(self._mixed(relation)), "x")])
        columns = [Column(reference="x", kind="double")]
        over = self.derived(inner, columns)
        condition = self._as_code(self._test(over))
        if self.python:
            return f"{over.text}.where({condition})"
        return f"SELECT * FROM {over.text} WHERE {condition}"

    def slips(self) -> Made:
        """Functions over arguments that do not fit, and columns that are not grouped."""
        relation = self.stream(watermark=0.4)
        mode = self.choices.pick("append", "update", "complete")
        shape = self.choices.weighted([(5, "function"), (2, "ungrouped"), (2, "ambiguous")])
        shown = self.write.reference(self.write.column(relation.columns))
        if shape == "function":
            template = self.choices.one_of(_ALL)
            columns = [self.choices.one_of(relation.columns)]
            wrong = self.write.written(template, columns, 2)
            if self.choices.chance(0.3):
                return self.grouped(relation, [shown], [self.write.named(wrong, "v")]), mode
            return self.select(relation, [shown, self.write.named(wrong, "v")]), "append"
        if shape == "ungrouped":
            key = self.write.reference(self.write.column(relation.columns))
            scalar = self.write.scalar(relation.columns)
            if self.python:
                return f"{relation.text}.groupBy({key}).agg({scalar}, {shown})", mode
            by = self.choices.pick(key, f"{key}, {shown}", "2", "ALL", f"upper({key})")
            text = f"SELECT {scalar}, {shown}, count(*) FROM {relation.text} GROUP BY {by}"
            return text + self.choices.pick("", f" HAVING {shown} IS NOT NULL"), mode
        other = self._under(self.plain(self.stream(watermark=0.5)), "r")
        left = self._under(self.plain(self.stream(watermark=0.5)), "l")
        outside, self.write.python = self.write.python, False
        condition = self._on(left, other)
        self.write.python = outside
        names = [c.name for c in (*left.columns, *other.columns)]
        bare = self.choices.pick(*[self.choices.one_of(names) for _ in range(2)])
        if self.choices.chance(0.4):
            condition = f"{bare} = {self.choices.one_of(names)}"
        if self.python:
            return f'{left.text}.join({other.text}, F.expr("{condition}")).select("{bare}")', mode
        return f"SELECT {bare} FROM {left.text} JOIN {other.text} ON {condition}", mode
