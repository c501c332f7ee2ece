"""Random queries with a mistake: of names, types, arguments, places, or words."""

from __future__ import annotations

from .grouped import Made
from .several import SeveralRelations


class RefusedQueries(SeveralRelations):
    """Queries that Spark refuses, most of them."""

    def err(self) -> Made:
        """A query with one mistake."""
        if self.python:
            return self._mistaken_code()
        shape = self.choices.weighted([(4, "words"), (3, "expression"), (3, "clause")])
        if shape == "words":
            return self._garbled()
        relation = self.stream(self._timed(), watermark=0.5)
        mode = self.choices.pick("append", "update", "complete")
        name = self.write.column(relation.columns).reference
        if shape == "expression":
            wrong = self._wrong_value(name, self.write.column(relation.columns).reference)
            if self.choices.chance(0.5):
                return self.select(relation, [name, f"{wrong} AS x"]), mode
            return self.select(relation, [name], f" WHERE {wrong}"), mode
        number = self.write.column(relation.columns, "n").reference
        source = relation.text
        return self.choices.pick(
            f"SELECT {name}, count(*) FROM {source}",
            f"SELECT {name}, sum({number}) FROM {source} GROUP BY 3",
            f"SELECT {name}, {number}, count(*) FROM {source} GROUP BY {name}",
            f"SELECT {name} FROM {source} WHERE count(*) > 1",
            f"SELECT sum(count(*)) FROM {source} GROUP BY {name}",
            f"SELECT {name} FROM {source} GROUP BY {name} HAVING nothing > 1",
            f"SELECT {name} FROM STREAM missing",
            f"SELECT {name} FROM {source} LIMIT -1",
            f"SELECT {name} FROM {source} LIMIT {number}",
            f"SELECT {name} FROM {source} ORDER BY 5",
            f"SELECT {name} FROM {source} UNION ALL SELECT {name}, {number} FROM {source}",
            f"SELECT * FROM {source} GROUP BY {name}",
            f"SELECT explode({name}) FROM {source}",
            f"SELECT {name} FROM {source} WHERE explode(split({name}, ','))",
            f"WITH a AS (SELECT 1), a AS (SELECT 2) SELECT {name} FROM {source}",
            f"SELECT {name} AS x, {number} AS x FROM {source} WHERE x > 1",
            f"SELECT x.{name} FROM {source}",
            f"SELECT {name} FROM {source} GROUP BY sum({number})",
            f"SELECT window({name}, '1 minute'), count(*) FROM {source} GROUP BY 1",
            f"SELECT window(ts, 'abc'), count(*) FROM {source} GROUP BY 1",
            f"SELECT window(ts, '1 minute', '2 minutes'), count(*) FROM {source} GROUP BY 1",
            f"SELECT window(ts, '-1 minute'), count(*) FROM {source} GROUP BY 1",
            f"SELECT {name}, grouping({name}) FROM {source} GROUP BY {name}",
            f"SELECT {name} FROM {source} a JOIN {source} b ON a.{name} = b.{name}",
            f"SELECT count(DISTINCT {name}) FROM {source}",
            f"SELECT {name} FROM {source} HAVING {number} > 1",
            f"INSERT INTO t SELECT {name} FROM {source}",
            f"SELECT session_window(ts, '5 minutes', '1 day'), sum(1) FROM {source} GROUP BY 1",
            f"SELECT {name} FROM {source} QUALIFY row_number() OVER (ORDER BY {name}) = 1",
            f"SELECT {name} FROM {source} TABLESAMPLE (10 PERCENT)",
        ), mode

    def _wrong_value(self, name: str, other: str) -> str:
        """A value with a mistake, in SQL."""
        return self.choices.pick(
            f"{name}x",
            f"nosuch({name})",
            f"upper({name}, {other})",
            f"{name} + {other}",
            f"sum({name} > 1)",
            f"substring({name})",
            f"CAST({name} AS NOTHING)",
            f"CAST({name} AS DATE) + {other}",
            f"{name} AND {other}",
            f"{name}.field",
            f"{name}[0]",
            f"hour({name}, 1)",
            f"date_trunc({name})",
            f"array_contains({name}, {other})",
            f"CASE WHEN {name} THEN 1 ELSE array(1) END",
            f"coalesce({name}, {other}, 1)",
            f"{name} LIKE 1",
            f"{name} BETWEEN 'a' AND 1",
            f"{name} IN (1, 'a', true)",
            f"concat({name}, array({other}))",
            f"transform({name}, x -> x)",
            f"INTERVAL '1' {name}",
            f"round({name}, {other})",
            f"NOT {name}",
            f"-{name}",
            f"DATE '2026-13-01' = {name}",
            f"TIMESTAMP 'nothing' = {name}",
            f"{name} = X'1'",
            "1 + ",
            f"CAST('abc' AS INT) = {name}",
        )

    def _garbled(self) -> Made:
        """A good query with a word left out, doubled, moved or replaced."""
        text, mode = self.choices.pick(self.agg, self.win, self.proj, self.ssjoin, self.sub)()
        words = text.split(" ")
        at = self.choices.below(len(words))
        how = self.choices.pick("out", "double", "swap", "replace", "cut")
        if how == "out":
            words.pop(at)
        elif how == "double":
            words.insert(at, words[at])
        elif how == "swap" and at + 1 < len(words):
            words[at], words[at + 1] = words[at + 1], words[at]
        elif how == "cut":
            words = words[: at + 1]
        else:
            words[at] = self.choices.pick(
                "x", ",", "(", ")", "1", "'", "SELECT", "FROM", "AS", "GROUP", "*"
            )
        return " ".join(words), mode

    def _mistaken_code(self) -> Made:
        relation = self.stream(self._timed(), watermark=0.5)
        columns = [c for c in relation.columns if "." not in c.reference]
        name = self.write.column(columns).reference
        other = self.write.column(columns).reference
        text = relation.text
        return self.choices.pick(
            f'{text}.select("{name}x")',
            f'{text}.groupBy("nothing").count()',
            f'{text}.withWatermark("{name}", "1 minute")',
            f'{text}.withWatermark("nothing", "1 minute")',
            f'{text}.withWatermark("{name}", "a while")',
            f'{text}.where("{name} +")',
            f'{text}.select(F.sum("{name}"), "{other}")',
            f'{text}.groupBy("{name}").agg(F.sum("{other}"))',
            f'{text}.dropDuplicates(["nothing"])',
            f'{text}.orderBy("{name}")',
            f'{text}.select(F.col("{name}") + F.col("{other}"))',
            f'{text}.groupBy(F.window("{name}", "5 minutes")).count()',
            f'{text}.groupBy(F.window("{name}", "soon")).count()',
            f'{text}.groupBy("{name}").pivot("{other}").count()',
            f'{text}.where(F.col("{name}"))',
            f'{text}.select(F.explode("{name}"))',
            f'{text}.select(F.expr("nosuch({name})"))',
            f'{text}.union({text}.select("{name}"))',
            f'{text}.join({text}, "nothing")',
            f'{text}.selectExpr("{name} AS a", "{name} FROM")',
            f"{text}.limit(-1)",
            f'{text}.select("{name}.field")',
            f'{text}.agg(F.max(F.sum("{name}")))',
            f'{text}.select(F.col("{name}").cast("nothing"))',
            f'{text}.groupBy("{name}").agg(F.avg("{other}")).groupBy("{name}").count()',
            f"{text}.sample(0.1)",
            f"{text}.describe()",
            f"{text}.drop_duplicates([1])",
        ), self.choices.pick("append", "update", "complete")
