"""Random queries that group one stream: a method for each family."""

from __future__ import annotations

from .relations import Relation, Relations

Made = tuple[str, str]
"""A query's text and its output mode."""


class GroupedStream(Relations):
    """Aggregates by key, by window, by session, by grouping sets."""

    def _mode(self, *modes: str) -> str:
        return self.choices.one_of(modes)

    def _keys(self, relation: Relation, least: int, most: int) -> list[str]:
        """Grouping keys: columns, sometimes expressions."""
        count = least + self.choices.below(most - least + 1)
        keys: dict[str, None] = {}
        for _ in range(count):
            shape = self.choices.weighted([(7, "column"), (2, "string"), (2, "number"), (1, "any")])
            if shape == "column":
                keys[self.write.name(self.write.column(relation.columns))] = None
            elif shape == "any":
                keys[self.write.scalar(relation.columns)] = None
            else:
                keys[getattr(self.write, shape)(relation.columns)] = None
        return list(keys)

    def _timed(self) -> str:
        return self.choices.pick(
            "events", "logs", "stats", "sensors", "clicks", "orders", "lines", "bid", "impressions"
        )

    def agg(self) -> Made:
        """By key, or over all."""
        relation, where = self.filtered(self.stream(watermark=0.15), 0.25)
        mode = self._mode("update", "complete", "update", "complete", "append")
        keys = self._keys(relation, 0, 2)
        if self.python and self.choices.chance(0.25):
            return self._short(relation, keys), mode
        text = self.grouped(relation, keys, self.aggregates(relation, 4), where)
        return self._having(text, relation), mode

    def _short(self, relation: Relation, keys: list[str]) -> str:
        """PySpark's short aggregations."""
        number = self.write.column(relation.columns, "n").reference
        other = self.write.column(relation.columns, "c").reference
        by = f"{relation.text}.groupBy({', '.join(keys)})"
        return by + self.choices.pick(
            ".count()",
            f'.sum("{number}")',
            f'.avg("{number}")',
            f'.max("{number}")',
            f'.agg({{"{number}": "sum", "{other}": "count"}})',
            f'.agg({{"*": "count", "{number}": "max"}})',
            '.count().where("count > 1")',
            '.count().withColumnRenamed("count", "n")',
            f'.min("{number}", "{number}")',
        )

    def _having(self, text: str, relation: Relation) -> str:
        if not self.choices.chance(0.2):
            return text
        number = self.write.column(relation.columns, "n").reference
        if self.python:
            return text + self.choices.pick('.where("a0 > 3")', '.filter(F.col("a0").isNotNull())')
        if "GROUP BY" not in text and self.choices.chance(0.5):
            return text
        return text + self.choices.pick(
            " HAVING count(*) > 3",
            f" HAVING sum({number}) > 100",
            f" HAVING max({number}) IS NOT NULL",
            f" HAVING avg({number}) > 1 AND count(*) > 1",
            " HAVING a0 > 3",
        )

    def win(self) -> Made:
        """By an event-time window and keys."""
        relation, where = self.filtered(self.stream(self._timed(), watermark=0.85), 0.25)
        mode = self._mode("append", "update", "append", "complete")
        keys = [key for key in self._keys(relation, 0, 2) if self.choices.chance(0.7)]
        window = self.window(relation.time)
        aggregates = self.aggregates(relation)
        if self.python:
            if self.choices.chance(0.2):
                window = self.write.named(window, "w")
            keys = [window, *keys] if not self.choices.chance(0.2) else [*keys, window]
            text = self.grouped(relation, keys, aggregates)
            if self.choices.chance(0.25):
                text += '.select("window.start", "window.end", F.col("*"))'
            return self._having(text, relation), mode
        shown = self.choices.pick(
            window + " AS w",
            window,
            "window.start AS s",
            "window.start, window.end",
            window + ".start AS s",
            "window.end AS e",
            "window",
        )
        by = ", ".join([window, *keys])
        if shown == window + " AS w" and self.choices.chance(0.4):
            by = ", ".join([self.choices.pick("1", "w"), *keys])
        text = self.grouped(relation, [shown, *keys], aggregates, where, by)
        return self._having(text, relation), mode

    def sess(self) -> Made:
        """By a session window."""
        relation, where = self.filtered(self.stream(self._timed(), watermark=0.95), 0.25)
        mode = self._mode("append", "append", "append", "complete", "update")
        keys = self._keys(relation, 1, 2) if self.choices.chance(0.92) else []
        session = self.session(relation)
        aggregates = self.aggregates(relation, 2)
        if self.python:
            keys = [*keys, session] if self.choices.chance(0.3) else [session, *keys]
            return self._having(self.grouped(relation, keys, aggregates), relation), mode
        shown = self.choices.pick(
            session + " AS s", session, "session_window.start AS b, session_window.end AS e"
        )
        by = ", ".join([session, *keys])
        if shown == session + " AS s" and self.choices.chance(0.4):
            by = ", ".join([self.choices.pick("1", "s"), *keys])
        return self.grouped(relation, [shown, *keys], aggregates, where, by), mode

    def gsets(self) -> Made:
        """GROUPING SETS, ROLLUP and CUBE."""
        relation, where = self.filtered(self.stream(watermark=0.3), 0.2)
        mode = self._mode("update", "complete", "complete", "append")
        plain = [c for c in relation.columns if "." not in c.reference]
        keys = [c.reference for c in self.choices.some(plain, 2, 3)]
        aggregates = self.aggregates(relation, 2)
        if self.python:
            names = ", ".join(f'"{key}"' for key in keys)
            method = self.choices.pick("rollup", "cube")
            if self.choices.chance(0.3):
                aggregates.append(self.choices.pick(f'F.grouping("{keys[0]}")', "F.grouping_id()"))
            return f"{relation.text}.{method}({names}).agg({', '.join(aggregates)})", mode
        by = self.choices.pick(
            f"ROLLUP({', '.join(keys)})",
            f"CUBE({', '.join(keys)})",
            f"{', '.join(keys)} WITH ROLLUP",
            f"GROUPING SETS(({', '.join(keys)}), ({keys[0]}), ())",
            f"{', '.join(keys)} WITH CUBE",
            f"{keys[0]}, ROLLUP({', '.join(keys[1:])})",
        )
        if relation.times and self.choices.chance(0.2):
            window = self.window(relation.time)
            keys, by = [window + " AS w", *keys], f"{window}, {by}"
        if self.choices.chance(0.4):
            aggregates.append(self.choices.pick(f"grouping({keys[-1]}) AS g", "grouping_id() AS g"))
        return self.grouped(relation, keys, aggregates, where, by), mode
