"""Random queries over several relations, or one in steps: unions, chains, subqueries."""

from __future__ import annotations

from .catalog import NUMBERS, TABLES, Column
from .grouped import Made
from .joins import TABLE_KEYS, Joins
from .relations import Relation, under


class SeveralRelations(Joins):
    """Set operations, one stateful operator behind another, CTEs and subqueries."""

    def union(self) -> Made:
        """Unions and other set operations of streams."""
        names = self.choices.pick(
            ("left_s", "right_s"),
            ("impressions", "clicks"),
            ("events", "logs"),
            ("logs", "stats"),
            ("events", "events"),
            ("events", "users"),
        )
        parts = [self._part(name) for name in names]
        mode = self.choices.weighted([(5, "append"), (2, "update"), (1, "complete")])
        columns = [Column(reference="t", kind="ts"), Column(reference="v", kind="string")]
        if self.python:
            method = self.choices.weighted(
                [
                    (6, "union"),
                    (2, "unionByName"),
                    (1, "unionAll"),
                    (1, "intersect"),
                    (1, "subtract"),
                ]
            )
            both = f"{parts[0]}.{method}({parts[1]})"
        else:
            word = self.choices.weighted(
                [
                    (8, "UNION ALL"),
                    (2, "UNION"),
                    (1, "INTERSECT"),
                    (1, "EXCEPT"),
                    (1, "UNION ALL BY NAME"),
                ]
            )
            both = f"{parts[0]} {word} {parts[1]}"
        shape = self.choices.weighted(
            [(4, "rows"), (3, "windowed"), (3, "grouped"), (1, "distinct")]
        )
        if shape == "rows":
            return both, mode
        relation = self.derived(both, columns)
        if shape == "distinct":
            return (
                both + ".dropDuplicates()"
                if self.python
                else f"SELECT DISTINCT v FROM {relation.text}"
            ), mode
        keys = [self.write.reference(columns[1])]
        if shape == "windowed":
            keys.insert(0, self.write.named(self.window(columns[0]), "w"))
        return self.grouped(relation, keys, self.aggregates(relation, 2)), mode

    def _part(self, name: str) -> str:
        """One side of a union: a time `t` and a value `v`."""
        relation = self.table(name) if name in TABLES else self.stream(name, watermark=0.6)
        value = self.choices.pick(
            self.write.reference(self.write.column(relation.columns, "s")),
            self.write.scalar(relation.columns),
            "F.lit('a')" if self.python else "'a'",
        )
        time = relation.time
        items = [self.write.named(self.write.reference(time), "t"), self.write.named(value, "v")]
        relation, where = self.filtered(relation, 0.25)
        return self.select(relation, items, where)

    def chain(self) -> Made:
        """One stateful operator behind another."""
        first = self.choices.weighted(
            [
                (5, self._windowed),
                (3, self._joined_rows),
                (3, self._deduplicated),
                (2, self._sessions),
            ]
        )()
        mode = self.choices.weighted([(7, "append"), (2, "update"), (1, "complete")])
        second = self.choices.weighted(
            [
                (5, "window"),
                (3, "group"),
                (2, "dedup"),
                (2, "limit"),
                (2, "select"),
                (2, "join"),
                (1, "session"),
            ]
        )
        return self._second(first, second), mode

    def _second(self, first: Relation, second: str) -> str:
        count = self.write.named('F.count("*")' if self.python else "count(*)", "m")
        key = self.write.reference(self.write.column(first.columns))
        if second == "window":
            time = first.time
            if time.kind == "window" and self.choices.chance(0.5):
                inner = f"window_time({time.reference})"
                inner = f'F.window_time("{time.reference}")' if self.python else inner
                window = (
                    f'F.window({inner}, "1 hour")' if self.python else f"window({inner}, '1 hour')"
                )
            else:
                window = self.window(time)
            keys = [self.write.named(window, "h"), *([key] if self.choices.chance(0.5) else [])]
            return self.grouped(first, keys, self.aggregates(first, 2))
        if second == "session":
            return self.grouped(first, [self.session(first), key], [count])
        if second == "group":
            grouping = key if first.time.kind != "window" else self.write.reference(first.time)
            return self.grouped(first, [grouping], self.aggregates(first, 2))
        if second == "dedup":
            if self.python:
                return f'{first.text}.dropDuplicates(["{first.columns[0].name}"])'
            return f"SELECT DISTINCT {key} FROM {first.text}"
        if second == "limit":
            return (
                first.text + ".limit(10)" if self.python else f"SELECT * FROM {first.text} LIMIT 10"
            )
        if second == "join":
            return self._rejoined(first)
        relation, where = self.filtered(first, 0.7)
        return self.select(relation, [self.write.scalar(first.columns)], where)

    def _windowed(self) -> Relation:
        stream = self.stream(self._timed(), watermark=0.93)
        key = self.write.column(stream.columns, "s") if self.choices.chance(0.6) else None
        return self.counted(stream, key, self.window(stream.time))

    def _sessions(self) -> Relation:
        stream = self.stream(self._timed(), watermark=0.93)
        key = self.write.column(stream.columns, "s")
        return self.counted(stream, key, self.session(stream))

    def _joined_rows(self) -> Relation:
        return self._joined(watermark=0.9)

    def _deduplicated(self) -> Relation:
        stream = self.stream(self._timed(), watermark=0.9)
        key = self.write.column(stream.columns, "s")
        if self.python:
            method = self.choices.pick("dropDuplicates", "dropDuplicatesWithinWatermark")
            names = (
                f'"{key.name}", "{stream.time.name}"'
                if self.choices.chance(0.5)
                else f'"{key.name}"'
            )
            text = f"{stream.text}.{method}([{names}])"
            return Relation(text=text, columns=stream.columns, times=stream.times)
        text = f"SELECT DISTINCT {key.reference}, {stream.time.reference} FROM {stream.text}"
        return self.derived(text, [stream.time, key])

    def _rejoined(self, first: Relation) -> str:
        """The relation joined with another windowed one, or with a stream."""
        first = Relation(
            text=first.text + ('.alias("l")' if self.python else " l"),
            columns=tuple(c if "." in c.reference else under("l", c) for c in first.columns),
            times=first.times,
        )
        other = self._windowed()
        keys = {c.name for c in other.columns} & {c.name for c in first.columns}
        if "w" in keys:
            on, text = "l.w = r.w", other.text
        else:
            other = self.stream("events", watermark=0.9)
            on, text = f"{self.write.column(first.columns, 's').reference} = r.user", other.text
        if self.python:
            return f'{first.text}.join({text}.alias("r"), F.expr("{on}"))'
        return f"SELECT l.*, r.* FROM {first.text} JOIN {text} r ON {on}"

    def sub(self) -> Made:
        """CTEs, derived tables, subqueries in conditions, views without STREAM."""
        if self.python:
            return self.choices.pick(self.agg, self.win, self.proj)()
        shape = self.choices.weighted([(4, "derived"), (4, "cte"), (3, "condition"), (1, "bare")])
        if shape == "condition":
            return self._condition()
        if shape == "bare":
            text, mode = self.choices.pick(self.proj, self.agg, self.win)()
            return text.replace("STREAM(", "(").replace("STREAM ", ""), mode
        relation, where = self.filtered(self.stream(self._timed(), watermark=0.8), 0.4)
        columns = [Column(reference="u", kind="string"), Column(reference="a", kind=NUMBERS[2])]
        columns.insert(0, Column(reference="t", kind="ts"))
        items = [
            f"{relation.time.reference} AS t",
            f"{self.write.string(relation.columns)} AS u",
            f"{self.write.number(relation.columns)} AS a",
        ]
        inner = self.select(relation, items, where)
        if self.choices.chance(0.2):
            inner = f"SELECT t, u, a FROM ({inner}) x WHERE a IS NOT NULL"
        outer = Relation(text="d", columns=tuple(columns), times=(columns[0],))
        over, where = self.filtered(outer, 0.3)
        kind = self.choices.pick("group", "rows", "window", "distinct", "session")
        mode = self.choices.pick("append", "update", "complete")
        if kind == "rows":
            text = self.select(over, [self.write.scalar(columns), "t"], where)
        elif kind == "distinct":
            text = f"SELECT DISTINCT u FROM d{where}"
        else:
            keys = ["u"]
            if kind != "group":
                keys.insert(
                    0,
                    (self.window(columns[0]) if kind == "window" else self.session(over)) + " AS w",
                )
            text = self.grouped(over, keys, self.aggregates(over, 2), where)
        if shape == "cte":
            return self.choices.pick(
                f"WITH d AS ({inner}) {text}",
                f"WITH c AS ({inner}), d AS (SELECT * FROM c) {text}",
                f"WITH d(t, u, a) AS ({inner}) {text}",
            ), mode
        name = self.choices.pick(" d", " AS d", "")
        return text.replace(" FROM d", f" FROM ({inner}){name}", 1), mode

    def _condition(self) -> Made:
        """A subquery over a table in a condition or a SELECT."""
        names = self.choices.one_of(list(TABLE_KEYS))
        a, b = TABLE_KEYS[names]
        left = self.stream(names[0], watermark=0.3, alias="e")
        table = self.table(names[1], alias="u")
        inner = f" AND {self.write.condition(table.columns)}" if self.choices.chance(0.4) else ""
        only = inner.replace(" AND ", " WHERE ", 1)
        number = self.write.column(left.columns, "n").reference
        condition = self.choices.pick(
            f"e.{a} IN (SELECT u.{b} FROM {table.text}{only})",
            f"EXISTS (SELECT 1 FROM {table.text} WHERE u.{b} = e.{a}{inner})",
            f"e.{a} NOT IN (SELECT u.{b} FROM {table.text}{only})",
            f"NOT EXISTS (SELECT * FROM {table.text} WHERE u.{b} = e.{a}{inner})",
            f"{number} > (SELECT count(*) FROM {table.text}{only})",
            f"e.{a} = (SELECT max(u.{b}) FROM {table.text}{only})",
            f"{number} > (SELECT count(*) FROM {table.text} WHERE u.{b} = e.{a}{inner})",
            f"e.{a} IN (SELECT u.{b} FROM {table.text}{only}) OR {number} > 3",
        )
        if self.choices.chance(0.15):
            other = f" AND {self.write.condition(left.columns)}"
            condition += other
        where = f" WHERE {condition}"
        if self.choices.chance(0.25):
            keys = [self.write.reference(self.write.column(left.columns))]
            return self.grouped(left, keys, self.aggregates(left, 2), where), "update"
        chosen = [self.write.reference(c) for c in self.choices.some(left.columns, 1, 3)]
        return self.select(left, chosen, where), "append"
