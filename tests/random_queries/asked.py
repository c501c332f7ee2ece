"""Random subqueries in every place, lateral joins, and set operations of many branches."""

from __future__ import annotations

from .catalog import Column
from .grouped import Made
from .many_joins import ManyJoins
from .relations import Relation


class AskingQueries(ManyJoins):
    """Queries that ask tables about their rows, and queries of several branches."""

    def asks(self) -> Made:
        """A stream, and one or two subqueries over tables."""
        if self.python:
            return self.multi()
        left = self.stream(watermark=0.5, alias="e")
        mode = self.choices.weighted([(5, "append"), (2, "update"), (1, "complete")])
        name, mine, theirs = self._alike(left)
        table = self.table(name, alias="u")
        place = self.choices.weighted(
            [(5, "where"), (3, "select"), (3, "lateral"), (2, "having"), (2, "on"), (1, "inside")]
        )
        if place == "lateral":
            return self._lateral(left, table, mine, theirs), mode
        shown = [self.write.reference(c) for c in self.choices.some(left.columns, 1, 3)]
        if place == "where":
            where = f" WHERE {self._question(left, table, mine, theirs)}"
            if self.choices.chance(0.3):
                return self.grouped(left, shown[:1], self.aggregates(left, 2), where), mode
            return self.select(left, shown, where), mode
        value = self._answer(left, table, mine, theirs)
        if place == "select":
            form = self.choices.pick(
                f"{value} AS v", f"coalesce({value}, 0) AS v", f"{value} IS NULL AS v", value
            )
            return self.select(left, [*shown, form], self.filtered(left, 0.3)[1]), mode
        if place == "inside":
            total = self.choices.pick("max", "count", "sum", "first")
            return self.grouped(left, shown[:1], [f"{total}({value}) AS v"]), mode
        if place == "having":
            only = self.choices.pick("", f" WHERE {self.write.condition(table.columns)}")
            number = f"(SELECT count(*) FROM {table.text}{only})"
            text = self.grouped(left, shown[:1], self.aggregates(left, 2))
            return f"{text} HAVING count(*) > {number}", mode
        other = self.stream(watermark=0.8, alias="b")
        condition = f"{self._on(left, other)} AND {self._question(left, table, mine, theirs)}"
        return f"SELECT {', '.join(shown)} FROM {left.text} JOIN {other.text} ON {condition}", mode

    def _question(self, left: Relation, table: Relation, mine: str, theirs: str) -> str:
        """A condition with a subquery."""
        if self.choices.chance(0.5):
            asked = self.subquery(mine, theirs, table)
        else:
            asked = self._nested(left, table, mine, theirs)
        other = self.write.condition(left.columns)
        return self.choices.weighted(
            [
                (6, asked),
                (2, f"{asked} AND {other}"),
                (2, f"({asked} OR {other})"),
                (1, f"NOT ({asked} AND {other})"),
                (1, f"NOT ({asked})"),
                (1, f"CASE WHEN {other} THEN {asked} ELSE false END"),
            ]
        )

    def _nested(self, left: Relation, table: Relation, mine: str, theirs: str) -> str:
        """Subqueries in subqueries, with joins, unions, limits and several correlations."""
        second = self.table(alias="v")
        a = self.write.column(table.columns).reference
        same = [c for c in second.columns if c.kind == self._kind(table, a)]
        b = self.choices.one_of(same or list(second.columns)).reference
        number = self.write.column(table.columns, "n").reference
        mine_too = self.write.column(left.columns, "n").reference
        text, other = table.text, second.text
        return self.choices.pick(
            f"EXISTS (SELECT 1 FROM {text} JOIN {other} ON {a} = {b} WHERE {theirs} = {mine})",
            f"{mine} IN (SELECT {theirs} FROM {text} WHERE {a} IN (SELECT {b} FROM {other}))",
            f"EXISTS (SELECT 1 FROM {text} WHERE {theirs} = {mine} AND {number} > {mine_too})",
            f"EXISTS (SELECT 1 FROM {text} WHERE {theirs} = {mine} "
            f"AND EXISTS (SELECT 1 FROM {other} WHERE {b} = {a}))",
            f"{mine} IN (SELECT {theirs} FROM {text} LEFT JOIN {other} ON {a} = {b})",
            f"{mine} IN (SELECT {theirs} FROM {text} WHERE {number} < {mine_too})",
            f"{mine} NOT IN (SELECT {theirs} FROM {text} WHERE {number} = {mine_too})",
            f"EXISTS (SELECT {theirs}, count(*) FROM {text} WHERE {number} = {mine_too} "
            f"GROUP BY {theirs} HAVING count(*) > 1)",
            f"{mine} IN (SELECT {theirs} FROM {text} UNION ALL SELECT {b} FROM {other})",
            f"{mine} IN (SELECT max({theirs}) FROM {text} GROUP BY {a})",
            f"{mine_too} > ANY (SELECT {number} FROM {text})",
            f"EXISTS (SELECT DISTINCT {a} FROM {text} WHERE {theirs} <=> {mine})",
            f"{mine} IN (SELECT DISTINCT {theirs} FROM {text} ORDER BY {theirs} LIMIT 5)",
            f"{mine} = (SELECT {theirs} FROM {text} ORDER BY {number} DESC LIMIT 1)",
            f"{mine} NOT IN (SELECT {theirs} FROM {text} WHERE {theirs} IS NOT NULL)",
            f"EXISTS (SELECT 1 FROM {text} WHERE upper({theirs}) = lower({mine}))",
            f"EXISTS (SELECT 1 FROM {text} WHERE {theirs} = {mine} LIMIT 1)",
            f"EXISTS (WITH c AS (SELECT * FROM {text}) SELECT 1 FROM c WHERE {mine_too} > 1)",
            f"{mine} IN ('a', 'b') OR {mine} IN (SELECT {theirs} FROM {text})",
            f"({mine}, {mine_too}) IN (SELECT {theirs}, {number} FROM {text})",
            f"({mine}, {mine_too}) NOT IN (SELECT {theirs}, {number} FROM {text})",
        )

    def _kind(self, relation: Relation, reference: str) -> str:
        return next(c.kind for c in relation.columns if c.reference == reference)

    def _answer(self, left: Relation, table: Relation, mine: str, theirs: str) -> str:
        """A scalar subquery."""
        number = self.write.column(table.columns, "n").reference
        own = self.write.column(left.columns, "n").reference
        condition = self.write.condition(table.columns)
        text = table.text
        return self.choices.pick(
            f"(SELECT max({number}) FROM {text})",
            f"(SELECT count(*) FROM {text} WHERE {theirs} = {mine})",
            f"(SELECT max({number}) FROM {text} WHERE {theirs} = {mine})",
            f"(SELECT sum({number}) FROM {text} WHERE {theirs} = {mine} AND {condition})",
            f"(SELECT first({number}) FROM {text} WHERE {theirs} = {mine} GROUP BY {theirs})",
            f"(SELECT count({number}) + 1 FROM {text} WHERE {theirs} = {mine})",
            f"(SELECT {number} FROM {text} LIMIT 1)",
            f"(SELECT {number} FROM {text} WHERE {theirs} = {mine} LIMIT 1)",
            f"(SELECT count(*) FROM {text} WHERE {number} > {own})",
            f"(SELECT count(DISTINCT {number}) FROM {text} WHERE {theirs} = {mine})",
            f"(SELECT avg({number}) FROM {text} WHERE {condition})",
            f"(SELECT max({number}) - min({number}) FROM {text} WHERE {theirs} = {mine})",
            f"(SELECT {number} FROM {text} WHERE {theirs} = {mine})",
            f"(SELECT max({own}) FROM {text})",
            f"(SELECT count(*) FROM {text} WHERE {theirs} = {mine} HAVING count(*) > 1)",
            f"(SELECT coalesce(max({number}), 0) FROM {text} WHERE {theirs} = {mine})",
        )

    def _lateral(self, left: Relation, table: Relation, mine: str, theirs: str) -> str:
        """A query beside the stream that sees its columns."""
        number = self.write.column(table.columns, "n").reference
        own = self.write.column(left.columns, "n").reference
        condition = self.write.condition(table.columns)
        text = table.text
        inner = self.choices.pick(
            f"SELECT {number} AS y FROM {text} WHERE {theirs} = {mine}",
            f"SELECT max({number}) AS y FROM {text} WHERE {theirs} = {mine}",
            f"SELECT count(*) AS y FROM {text} WHERE {theirs} = {mine} AND {condition}",
            f"SELECT {own} + 1 AS y",
            f"SELECT {own} + {number} AS y FROM {text} WHERE {theirs} = {mine}",
            f"SELECT DISTINCT {number} AS y FROM {text} WHERE {theirs} = {mine}",
            f"SELECT {number} AS y FROM {text} WHERE {condition}",
            f"SELECT {number} AS y FROM {text} WHERE {theirs} = {mine} LIMIT 2",
            f"SELECT {theirs}, sum({number}) AS y FROM {text} WHERE {number} > {own} GROUP BY 1",
            f"SELECT {number} AS y FROM {text} WHERE {theirs} = {mine} ORDER BY 1 LIMIT 1",
        )
        shown = self.write.reference(self.write.column(left.columns))
        joined = self.choices.pick(
            f", LATERAL ({inner}) t",
            f" JOIN LATERAL ({inner}) t ON true",
            f" LEFT JOIN LATERAL ({inner}) t ON true",
            f" JOIN LATERAL ({inner}) t ON t.y > {own}",
            f" LEFT JOIN LATERAL ({inner}) t ON t.y = {own}",
        )
        where = self.choices.pick("", "", f" WHERE {self.write.condition(left.columns)}")
        if self.choices.chance(0.25):
            return f"SELECT {shown}, max(t.y) FROM {left.text}{joined}{where} GROUP BY 1"
        return f"SELECT {shown}, t.y FROM {left.text}{joined}{where}"

    def sets(self) -> Made:
        """Two to four branches, in every operation."""
        width = 1 + self.choices.below(3)
        branches = [self._branch(width) for _ in range(2 + self.choices.below(3))]
        mode = self.choices.weighted([(6, "append"), (2, "update"), (1, "complete")])
        columns = [Column(reference="t", kind="ts")]
        columns += [Column(reference=f"v{i}", kind="string") for i in range(1, width)]
        whole = branches[0]
        for branch in branches[1:]:
            whole = self._set_operation(whole, branch)
        shape = self.choices.weighted(
            [(5, "rows"), (3, "windowed"), (3, "grouped"), (1, "distinct"), (2, "projected")]
        )
        if shape == "rows":
            return whole, mode
        relation = self.derived(whole, columns)
        over, where = self.filtered(relation, 0.3)
        key = self.write.reference(self.write.column(columns))
        if shape == "projected":
            return self.select(over, [self.write.scalar(columns), key], where), mode
        if shape == "distinct":
            if self.python:
                return f"{over.text}.dropDuplicates()", mode
            return f"SELECT DISTINCT {key} FROM {over.text}{where}", mode
        keys = [key]
        if shape == "windowed":
            keys = [self.write.named(self.window(columns[0]), "w")]
        return self.grouped(over, keys, self.aggregates(over, 2), where), mode

    def _branch(self, width: int) -> str:
        """Some columns of a stream or a table, the first a time."""
        atrest = self.choices.chance(0.25)
        relation = self.plain(self.table() if atrest else self.stream(watermark=0.6))
        items = [self.write.named(self.write.reference(relation.time), "t")]
        for position in range(1, width):
            value = self.choices.pick(
                self.write.reference(self.write.column(relation.columns, "s")),
                self.write.scalar(relation.columns),
                "F.lit(None)" if self.python else "NULL",
                "F.lit(1)" if self.python else "1",
                self.write.string(relation.columns),
            )
            items.append(self.write.named(value, f"v{position}"))
        over, where = self.filtered(relation, 0.3)
        text = self.select(over, items, where)
        if self.choices.chance(0.08):
            text += ".distinct()" if self.python else ""
            return text if self.python else text.replace("SELECT ", "SELECT DISTINCT ", 1)
        return text

    def _set_operation(self, left: str, right: str) -> str:
        if self.python:
            method = self.choices.weighted(
                [
                    (8, "union"),
                    (2, "unionByName"),
                    (1, "intersect"),
                    (1, "subtract"),
                    (1, "exceptAll"),
                    (1, "intersectAll"),
                ]
            )
            return f"{left}.{method}({right})"
        word = self.choices.weighted(
            [
                (8, "UNION ALL"),
                (3, "UNION"),
                (1, "INTERSECT"),
                (1, "EXCEPT"),
                (1, "EXCEPT ALL"),
                (1, "INTERSECT ALL"),
                (1, "MINUS"),
            ]
        )
        if self.choices.chance(0.15):
            return f"({left}) {word} {right}"
        if self.choices.chance(0.15):
            return f"{left} {word} ({right})"
        return f"{left} {word} {right}"
