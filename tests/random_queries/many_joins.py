"""Random joins of two to four streams, tables and queries, under conditions of all shapes."""

from __future__ import annotations

from dataclasses import replace

from .catalog import NUMBERS, Column
from .grouped import Made
from .joins import HOW
from .relations import Relation, under
from .wide import WideQueries

COMPARED = ("string", "ts", "date", "bool", "ntz", "window")
HOW_OFTEN = (
    (6, "inner"),
    (4, "left_outer"),
    (2, "right_outer"),
    (2, "full_outer"),
    (2, "left_semi"),
    (2, "left_anti"),
    (1, "cross"),
)


class ManyJoins(WideQueries):
    """Joins behind joins, and aggregates, windows and duplicates behind them."""

    def multi(self) -> Made:
        """Two to four relations joined, and what is asked of them."""
        relation = self._member("a", streaming=True)
        for alias in "bcd"[: self.choices.weighted([(5, 1), (4, 2), (1, 3)])]:
            relation = self._joined_with(relation, self._member(alias))
        text, mode = self._above(relation)
        return self.behind_parts(text), mode

    def _member(self, alias: str, *, streaming: bool = False) -> Relation:
        """A relation under an alias."""
        kind = self.choices.weighted(
            [
                (6, "stream"),
                (0 if streaming else 4, "table"),
                (2, "query"),
                (0 if streaming else 1, "values"),
                (1, "counted"),
            ]
        )
        if kind == "stream":
            return self.stream(watermark=0.8, alias=alias)
        if kind == "table":
            return self.table(alias=alias)
        if kind == "values":
            return self._counted_table(alias)
        if kind == "counted":
            return self._under(self._windowed(), alias)
        over = self.plain(self.stream(watermark=0.8))
        step = self.choices.pick(self._filtered_query, self._projected, self._distinct)(over)
        return self._under(step, alias)

    def _filtered_query(self, relation: Relation) -> Relation:
        over, where = self.filtered(relation, 1.0)
        if self.python:
            return over
        return self.derived(f"SELECT * FROM {over.text}{where}", over.columns)

    def _counted_table(self, alias: str) -> Relation:
        """A table's rows by one of its columns."""
        table = self.plain(self.table())
        key = self.write.column(table.columns)
        count = self.write.named('F.count("*")' if self.python else "count(*)", "n")
        columns = [key, Column(reference="n", kind="long")]
        keys = [self.write.reference(key)]
        query = self.grouped(table, keys, [count], by=None if self.python else "1")
        return self.derived(query, columns, alias)

    def _under(self, relation: Relation, alias: str) -> Relation:
        text = relation.text + (f'.alias("{alias}")' if self.python else f" {alias}")
        columns = tuple(under(alias, column) for column in relation.columns)
        times = tuple(under(alias, column) for column in relation.times)
        return Relation(text=text, columns=columns, times=times)

    def _joined_with(self, left: Relation, right: Relation) -> Relation:
        how = self.choices.weighted(HOW_OFTEN)
        outside, self.write.python = self.write.python, False
        condition = self._on(left, right)
        self.write.python = outside
        if how == "cross" and self.choices.chance(0.5):
            condition = ""
        if self.python:
            on = f', F.expr("{condition}"), "{self._spelled(how)}"' if condition else ""
            text = f"{left.text}.{'join' if on else 'crossJoin'}({right.text}{on})"
        else:
            text = f"{left.text} {HOW[how]} {right.text}"
            text += f" ON {condition}" if condition else ""
        if how in ("left_semi", "left_anti"):
            return replace(left, text=text)
        times = (*left.times[:1], *right.times[:1], *left.times[1:])
        return Relation(text=text, columns=(*left.columns, *right.columns), times=times)

    def _on(self, left: Relation, right: Relation) -> str:
        """A condition between two relations, in SQL."""
        parts = [
            self._equal(left, right) for _ in range(self.choices.weighted([(7, 1), (2, 2), (1, 0)]))
        ]
        stamps = (
            [c for c in left.times if c.kind == "ts"],
            [c for c in right.times if c.kind == "ts"],
        )
        if all(stamps) and self.choices.chance(0.55):
            parts.append(self._bounds(stamps[0][0], stamps[1][0]))
        for _ in range(self.choices.weighted([(6, 0), (4, 1), (1, 2)])):
            parts.append(self._other(left, right))
        if not parts:
            return "true"
        if len(parts) > 1 and self.choices.chance(0.06):
            return " OR ".join(parts)
        return " AND ".join(parts)

    def _pair(self, left: Relation, right: Relation) -> tuple[Column, Column]:
        """A column of each, whose values can be compared."""
        pairs = [
            (mine, other)
            for mine in left.columns
            for other in right.columns
            if (mine.kind in NUMBERS and other.kind in NUMBERS)
            or (mine.kind == other.kind and mine.kind in COMPARED)
        ]
        strings = [pair for pair in pairs if pair[0].kind in ("string", "long", "int", "window")]
        if strings and self.choices.chance(0.75):
            pairs = strings
        return self.choices.one_of(pairs or [(left.columns[0], right.columns[0])])

    def _equal(self, left: Relation, right: Relation) -> str:
        mine, other = self._pair(left, right)
        a, b = mine.reference, other.reference
        if self.choices.chance(0.8):
            return self.choices.pick(f"{a} = {b}", f"{b} = {a}", f"{a} = {b}")
        if mine.kind == "string":
            return self.choices.pick(
                f"upper({a}) = {b}",
                f"{a} <=> {b}",
                f"{a} = concat({b}, 'x')",
                f"coalesce({a}, '') = coalesce({b}, '')",
                f"substring({a}, 1, 2) = lower({b})",
                f"{a} = {b} || '-' || {b}",
            )
        if mine.kind in NUMBERS:
            return self.choices.pick(
                f"{a} = {b} + 1",
                f"{a} <=> {b}",
                f"{a} - {b} = 0",
                f"CAST({a} AS STRING) = CAST({b} AS STRING)",
                f"{a} > {b}",
                f"{a} * 2 = {b} * 2",
            )
        return self.choices.pick(
            f"CAST({a} AS STRING) = CAST({b} AS STRING)", f"{a} <=> {b}", f"{a} <> {b}"
        )

    def _other(self, left: Relation, right: Relation) -> str:
        """Any further condition of a join."""
        mine, other = self._pair(left, right)
        a, b = mine.reference, other.reference
        one, two = self.write.condition(left.columns), self.write.condition(right.columns)
        return self.choices.pick(
            one,
            two,
            f"({one} OR {two})",
            f"{a} <> {b}",
            f"({a} = {b} OR {two})",
            f"NOT ({a} = {b})",
            f"({one} AND {two} OR {a} = {b})",
            f"{a} IN ({b})",
            f"({a} IS NULL OR {b} IS NULL)",
            f"coalesce({a} = {b}, false)",
            f"CASE WHEN {one} THEN {two} ELSE true END",
            "true",
            "1 = 1",
            f"{b} IS NOT NULL",
            self._either(left, right),
        )

    def _above(self, relation: Relation) -> Made:
        """Rows, groups, windows, duplicates over a join."""
        mode = self.choices.weighted([(6, "append"), (2, "update"), (1, "complete")])
        shape = self.choices.weighted(
            [
                (6, "rows"),
                (3, "grouped"),
                (3, "windowed"),
                (1, "distinct"),
                (1, "all"),
                (1, "twice"),
            ]
        )
        if shape == "rows":
            return self._shown(relation), mode
        over, where = self.filtered(relation, 0.3)
        key = self.write.column(over.columns)
        reference = self.write.reference(key)
        if shape == "all":
            return self.grouped(over, [], self.aggregates(over, 2), where), mode
        if shape == "distinct":
            if self.python:
                return f"{over.text}.select({reference}).distinct()", mode
            return f"SELECT DISTINCT {reference} FROM {over.text}{where}", mode
        if shape == "grouped":
            return self.grouped(over, [reference], self.aggregates(over, 2), where), mode
        if shape == "twice":
            return self._counted_again(over, where, key), mode
        keys = [self.write.named(self.window(over.time), "w")]
        if self.choices.chance(0.5):
            keys.append(reference)
        return self.grouped(over, keys, self.aggregates(over, 2), where), mode

    def _counted_again(self, relation: Relation, where: str, key: Column) -> str:
        """Windows over a join, and windows over these."""
        keys = [
            self.write.named(self.window(relation.time), "w"),
            self.write.named(self.write.reference(key), "k"),
        ]
        count = self.write.named('F.count("*")' if self.python else "count(*)", "n")
        by = None if self.python else "1, 2"
        first = self.grouped(relation, keys, [count], where, by)
        columns = [
            Column(reference="w", kind="window"),
            Column(reference="k", kind=key.kind),
            Column(reference="n", kind="long"),
        ]
        return self._second(self.derived(first, columns), self.choices.pick("window", "group"))
