"""Random joins: of streams with each other, and with tables."""

from __future__ import annotations

from .catalog import Column
from .grouped import Made
from .relations import SPANS, Relation
from .single import SingleStream

JOIN_KEYS = {
    ("impressions", "clicks"): (("adId", "adId"), ("adId", "adId"), ("campaign", "userId")),
    ("left_s", "right_s"): (("key", "key"), ("key", "key"), ("lv", "rv")),
    ("events", "logs"): (("user", "host"), ("qty", "status"), ("amount", "latency")),
    ("person", "auction"): (("id", "seller"), ("name", "itemName")),
    ("auction", "bid"): (("id", "auction"), ("category", "price")),
    ("events", "stats"): (("user", "str"), ("qty", "l"), ("amount", "m"), ("qty", "s")),
    ("orders", "events"): (("customer", "user"), ("orderId", "qty")),
}
TABLE_KEYS = {
    ("events", "users"): ("user", "user"),
    ("orders", "customers"): ("customer", "customer"),
    ("logs", "hosts"): ("host", "host"),
    ("impressions", "campaigns"): ("adId", "adId"),
    ("clicks", "campaigns"): ("adId", "adId"),
    ("stats", "hosts"): ("i", "cores"),
    ("bid", "campaigns"): ("auction", "adId"),
}
HOW = {
    "inner": "JOIN",
    "left_outer": "LEFT JOIN",
    "right_outer": "RIGHT JOIN",
    "full_outer": "FULL OUTER JOIN",
    "left_semi": "LEFT SEMI JOIN",
    "left_anti": "LEFT ANTI JOIN",
    "cross": "CROSS JOIN",
}


class Joins(SingleStream):
    """Two streams, three, a stream and a table, with hints."""

    def _bounds(self, left: Column, right: Column) -> str:
        """A condition over both sides' times, in SQL."""
        a, b = left.reference, right.reference
        span = self.choices.one_of(SPANS).upper()
        return self.choices.pick(
            f"{b} >= {a} AND {b} <= {a} + INTERVAL {span}",
            f"{b} BETWEEN {a} AND {a} + INTERVAL {span}",
            f"{b} BETWEEN {a} - INTERVAL {span} AND {a} + INTERVAL {span}",
            f"{a} > {b} - INTERVAL {span}",
            f"{a} = {b}",
            f"{a} < {b}",
            f"{a} + INTERVAL {span} > {b}",
            f"{b} - {a} < INTERVAL {span}",
            f"{a} >= {b} - INTERVAL {span} AND {a} < {b} + INTERVAL {span}",
        )

    def _extra(self, left: Relation, right: Relation) -> str:
        """A condition over other columns, in SQL."""
        outside, self.write.python = self.write.python, False
        made = self.choices.pick(
            self.write.condition(left.columns),
            self.write.condition(right.columns),
            f"{self.write.column(left.columns, 'n').reference} > "
            f"{self.write.column(right.columns, 'n').reference}",
            self._either(left, right),
        )
        self.write.python = outside
        return made

    def _either(self, left: Relation, right: Relation) -> str:
        """Two ways in which a row of each side may fit."""
        pairs = [
            f"{self.write.condition(left.columns)} AND {self.write.condition(right.columns)}"
            for _ in range(2)
        ]
        return f"({' OR '.join(pairs)})"

    def _joined(self, *, watermark: float = 0.75) -> Relation:
        """A join of two streams as a relation."""
        names = self.choices.one_of(list(JOIN_KEYS))
        left = self.stream(names[0], watermark=watermark, alias="l")
        right = self.stream(names[1], watermark=watermark, alias="r")
        a, b = self.choices.one_of(JOIN_KEYS[names])
        how = self.choices.weighted(
            [
                (5, "inner"),
                (3, "left_outer"),
                (2, "right_outer"),
                (2, "full_outer"),
                (2, "left_semi"),
                (1, "left_anti"),
                (1, "cross"),
            ]
        )
        equal = "=" if not self.choices.chance(0.06) else self.choices.pick("<=>", ">")
        conditions = [f"l.{a} {equal} r.{b}"]
        if self.choices.chance(0.6):
            conditions.append(self._bounds(left.time, right.time))
        if self.choices.chance(0.2):
            conditions.append(self._extra(left, right))
        semi = how in ("left_semi", "left_anti")
        columns = left.columns if semi else (*left.columns, *right.columns)
        times = left.times if semi else (*left.times[:1], *right.times[:1], *left.times[1:])
        return Relation(
            text=self._join(left.text, right.text, how, conditions, (a, b)),
            columns=columns,
            times=times,
        )

    def _join(
        self, left: str, right: str, how: str, conditions: list[str], key: tuple[str, str]
    ) -> str:
        if not self.python:
            bare = how == "cross" and self.choices.chance(0.5)
            if key[0] == key[1] and len(conditions) == 1 and self.choices.chance(0.15):
                return f"{left} {HOW[how]} {right} USING ({key[0]})"
            on = "" if bare else f" ON {' AND '.join(conditions)}"
            return f"{left} {HOW[how]} {right}{on}"
        if key[0] == key[1] and len(conditions) == 1 and self.choices.chance(0.4):
            on = self.choices.pick(f'"{key[0]}"', f'["{key[0]}"]')
        elif len(conditions) == 1 and self.choices.chance(0.5):
            on = f'F.col("l.{key[0]}") == F.col("r.{key[1]}")'
        else:
            on = f'F.expr("{" AND ".join(conditions)}")'
        spelled = "" if how == "inner" else f', "{self._spelled(how)}"'
        return f"{left}.join({right}, {on}{spelled})"

    def _spelled(self, how: str) -> str:
        """One of PySpark's names of a join type."""
        return self.choices.pick(how, how.replace("_", ""), how.removesuffix("_outer"))

    def ssjoin(self) -> Made:
        """Two streams joined, sometimes three."""
        if self.choices.chance(0.15):
            return self._unusual_join()
        relation = self._joined()
        mode = self.choices.weighted([(8, "append"), (1, "update"), (1, "complete")])
        return self._shown(relation), mode

    def _unusual_join(self) -> Made:
        """Joins of three, of a stream with itself, by NATURAL, comma, or method."""
        one = self.stream("impressions", watermark=0.9, alias="i")
        two = self.stream("clicks", watermark=0.9, alias="c")
        same = self.stream("impressions", watermark=0.9, alias="j")
        span = self.choices.one_of(SPANS).upper()
        near = f"clickTime BETWEEN impTime AND impTime + INTERVAL {span}"
        ids = "i.adId = c.adId"
        a, b, c = one.text, two.text, same.text
        if self.python:
            return self.choices.pick(
                f'{a}.join({c}, F.expr("i.adId = j.adId"))',
                f'{a}.join({b}, F.expr("i.adId = c.adId")).join({c}, F.expr("j.adId = c.adId"))',
                f"{a}.crossJoin({b})",
                f"{a}.join({b})",
                f'{a}.join({b}, ["adId"], "inner").where("{near}")',
                f'{a}.join({b}, [F.col("i.adId") == F.col("c.adId"), F.expr("{near}")])',
                f'{a}.join(campaigns, "adId").join({b}, "adId")',
                "impressions.join(clicks, impressions.adId == clicks.adId).drop(clicks.adId)",
                'impressions.join(clicks, "adId").groupBy("campaign").count()',
            ), self.choices.pick("append", "update")
        return self.choices.pick(
            f"SELECT * FROM {a} JOIN {c} ON i.adId = j.adId",
            f"SELECT c.userId FROM {a} JOIN {b} ON {ids} JOIN {c} ON j.adId = c.adId",
            f"SELECT * FROM {a} NATURAL JOIN {b}",
            f"SELECT userId, u.budget FROM campaigns u, {b}, {a} WHERE i.adId = u.adId AND {ids}",
            f"SELECT i.adId FROM {a}, campaigns u, {b} WHERE {ids} AND u.campaign = c.userId",
            f"SELECT * FROM {a} JOIN {b} ON {ids} OR (i.adId IS NULL AND c.adId IS NULL)",
            f"SELECT i.adId, c.userId FROM {a}, {b} WHERE i.adId = c.adId AND {near}",
            f"SELECT i.campaign, c.userId FROM {a} JOIN {b} USING (adId) WHERE {near}",
            f"SELECT u.budget FROM {a} JOIN campaigns u ON i.adId = u.adId JOIN {b} ON {ids}",
            f"SELECT i.adId FROM {a} LEFT JOIN (SELECT * FROM {b}) c ON {ids} AND {near}",
            f"SELECT campaign, count(*) FROM {a} JOIN {b} ON {ids} AND {near} GROUP BY 1",
        ), self.choices.pick("append", "update")

    def _shown(self, relation: Relation) -> str:
        """Some of a join's columns, perhaps filtered."""
        where = ""
        if self.choices.chance(0.25):
            relation, where = self.filtered(relation, 1.0)
        if self.choices.chance(0.3):
            return relation.text if self.python else f"SELECT * FROM {relation.text}{where}"
        chosen = self.choices.some(relation.columns, 1, 3)
        items = [self.write.reference(column) for column in chosen]
        if self.choices.chance(0.3):
            items.append(self.write.named(self.write.scalar(relation.columns), "x"))
        return self.select(relation, items, where)

    def static(self) -> Made:
        """A stream joined with a table."""
        names = self.choices.one_of(list(TABLE_KEYS))
        a, b = TABLE_KEYS[names]
        left = self.stream(names[0], watermark=0.3, alias="e")
        right = self._small(names[1], b)
        how = self.choices.weighted(
            [
                (6, "inner"),
                (4, "left_outer"),
                (2, "left_semi"),
                (2, "left_anti"),
                (1, "right_outer"),
                (1, "cross"),
                (1, "full_outer"),
            ]
        )
        conditions = [f"e.{a} = u.{b}"]
        if self.choices.chance(0.06):
            conditions = [f"e.{a} > u.{b}"]
        if self.choices.chance(0.25):
            conditions.append(self._extra(left, right))
        semi = how in ("left_semi", "left_anti")
        columns = left.columns if semi else (*left.columns, *right.columns)
        hint = self.choices.weighted(
            [
                (8, ""),
                (2, "broadcast"),
                (1, "merge"),
                (1, "shuffle_hash"),
                (1, "shuffle_replicate_nl"),
            ]
        )
        if self.python:
            return self._static_code(left, right, how, conditions, (a, b), columns, hint)
        first, second = left.text, right.text
        if how == "inner" and self.choices.chance(0.2):
            first, second = second, first
        relation = Relation(
            text=self._join(first, second, how, conditions, (a, b)),
            columns=columns,
            times=left.times,
        )
        text, mode = self._static_shown(relation)
        if hint:
            text = text.replace("SELECT ", f"SELECT /*+ {hint.upper()}(u) */ ", 1)
        return text, mode

    def _static_code(
        self,
        left: Relation,
        right: Relation,
        how: str,
        conditions: list[str],
        key: tuple[str, str],
        columns: tuple[Column, ...],
        hint: str,
    ) -> Made:
        second = right.text
        if hint == "broadcast":
            second = f"F.broadcast({second})"
        elif hint:
            second += f'.hint("{hint}")'
        relation = Relation(
            text=self._join(left.text, second, how, conditions, key),
            columns=columns,
            times=left.times,
        )
        return self._static_shown(relation)

    def _static_shown(self, relation: Relation) -> Made:
        shape = self.choices.weighted([(5, "rows"), (2, "grouped"), (1, "windowed")])
        if shape == "rows":
            return self._shown(relation), self.choices.weighted([(8, "append"), (1, "update")])
        keys = [self.write.reference(self.write.column(relation.columns))]
        if shape == "windowed":
            keys.insert(0, self.write.named(self.window(relation.time), "w"))
        text = self.grouped(relation, keys, self.aggregates(relation, 2))
        return text, self.choices.pick("update", "complete", "append")

    def _small(self, name: str, key: str) -> Relation:
        """A table, or a query over it, under the alias u."""
        if not self.choices.chance(0.3):
            return self.table(name, alias="u")
        plain = self.table(name)
        other = [c for c in plain.columns if c.reference != key][-1]
        columns = [Column(reference=key, kind="string"), other]
        outside = [self.write.reference(c) for c in columns]
        query = self.choices.pick("filter", "distinct", "aggregate")
        if query == "filter":
            condition = self.write.condition(plain.columns)
            text = (
                f"{plain.text}.where({condition})"
                if self.python
                else f"SELECT * FROM {plain.text} WHERE {condition}"
            )
            return self.derived(text, plain.columns, alias="u")
        if query == "distinct":
            text = self.select(plain, outside)
            text = (
                f"{text}.distinct()"
                if self.python
                else text.replace("SELECT", "SELECT DISTINCT", 1)
            )
            return self.derived(text, columns, alias="u")
        largest = f"F.max({outside[1]})" if self.python else f"max({outside[1]})"
        text = self.grouped(plain, [outside[0]], [self.write.named(largest, other.reference)])
        return self.derived(text, columns, alias="u")
