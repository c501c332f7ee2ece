"""Random queries over the rows of one stream: a method for each family."""

from __future__ import annotations

from .catalog import Column
from .grouped import GroupedStream, Made
from .relations import Relation


class SingleStream(GroupedStream):
    """Deduplication, limits, sorts, projections, watermarks; and windows of rows."""

    def dedup(self) -> Made:
        """Rows or values once."""
        relation, where = self.filtered(self.stream(watermark=0.6), 0.2)
        mode = self._mode("append", "update", "append", "complete")
        plain = [c for c in relation.columns if "." not in c.reference]
        chosen = self.choices.some(plain, 1, 3)
        if relation.times and self.choices.chance(0.4):
            chosen = list(dict.fromkeys([*chosen, relation.time]))
        if not self.python:
            items = [self.write.reference(c) for c in chosen]
            if self.choices.chance(0.3):
                items.append(self.write.scalar(relation.columns))
            if self.choices.chance(0.1):
                items = ["*"]
            return f"SELECT DISTINCT {', '.join(items)} FROM {relation.text}{where}", mode
        names = ", ".join(f'"{c.reference}"' for c in chosen)
        text = relation.text + self.choices.pick(
            f".dropDuplicates([{names}])",
            f".dropDuplicatesWithinWatermark([{names}])",
            ".dropDuplicates()",
            ".distinct()",
            ".dropDuplicatesWithinWatermark()",
            f".select({names}).distinct()",
            f".select({names}).dropDuplicates()",
            f".drop_duplicates([{names}])",
        )
        if self.choices.chance(0.2):
            text += f".select({names})"
        return text, mode

    def limit(self) -> Made:
        """The first rows."""
        count = self.choices.pick(10, 1, 0, 5, 100)
        mode = self._mode("append", "append", "append", "complete", "update")
        if mode == "complete" or self.choices.chance(0.3):
            text, mode = self.choices.pick(self.agg, self.win, self.dedup)()
            mode = self._mode("complete", "append", mode)
        else:
            relation, where = self.filtered(self.stream(watermark=0.2), 0.4)
            items = [self.write.scalar(relation.columns) for _ in range(1 + self.choices.below(3))]
            text = self.select(relation, items, where)
        if self.python:
            return text + self.choices.pick(
                f".limit({count})",
                f".limit({count})",
                f".offset({count})",
                f".limit({count}).limit(3)",
            ), mode
        return text + self.choices.weighted(
            [
                (8, f" LIMIT {count}"),
                (1, f" LIMIT {count} OFFSET 2"),
                (1, " OFFSET 3"),
                (1, " LIMIT 2 + 3"),
                (1, " LIMIT ALL"),
            ]
        ), mode

    def sort(self) -> Made:
        """Sorted results: of complete mode, refused elsewhere."""
        if self.choices.chance(0.2):
            relation, where = self.filtered(self.stream(watermark=0.2), 0.4)
            text = self.select(relation, [self.write.scalar(relation.columns)], where)
            mode = "append"
        else:
            text, mode = self.choices.pick(self.agg, self.win, self.agg)()
            mode = self._mode("complete", "complete", "complete", "update", mode)
        if self.python:
            return text + self.choices.pick(
                '.orderBy(F.desc("a0"))',
                '.sort("a0")',
                '.orderBy("a0", ascending=False)',
                '.orderBy(F.col("a0").desc_nulls_last()).limit(5)',
                '.sort(F.asc("a0")).limit(3)',
            ), mode
        return text + self.choices.pick(
            " ORDER BY 1",
            " ORDER BY 1 DESC",
            " ORDER BY 1 LIMIT 5",
            " ORDER BY a0 DESC",
            " ORDER BY a0 DESC NULLS LAST LIMIT 10",
            " ORDER BY count(*) DESC",
            " SORT BY 1",
            " ORDER BY a0, 1 LIMIT 3 OFFSET 1",
            " ORDER BY ALL",
            " ORDER BY a0 + 1 LIMIT 2",
        ), mode

    def proj(self) -> Made:
        """Projections and filters."""
        names = ("orders", "readings") if self.choices.chance(0.35) else (None,)
        relation, where = self.filtered(
            self.stream(self.choices.one_of(names), watermark=0.12), 0.5
        )
        mode = self._mode("append", "append", "append", "update", "complete")
        items = []
        for position in range(1 + self.choices.below(4)):
            text = self.write.scalar(relation.columns)
            items.append(
                self.write.named(text, f"c{position}") if self.choices.chance(0.5) else text
            )
        if not self.python:
            if self.choices.chance(0.1):
                return self._clauses(relation, items, where), mode
            if self.choices.chance(0.15):
                items.insert(0, "*")
            if self.choices.chance(0.2):
                return self._generated(relation, items, where), mode
            return self.select(relation, items, where), mode
        if self.choices.chance(0.3):
            return self._columns_code(relation), mode
        return self.select(relation, items), mode

    def _generated(self, relation: Relation, items: list[str], where: str) -> str:
        """A generator in the SELECT, or a LATERAL VIEW."""
        name = self.write.column(relation.columns, "s").reference
        nested = any(c.reference == "items" for c in relation.columns)
        array = (
            self.choices.pick("items", f"split({name}, ',')") if nested else f"split({name}, ',')"
        )
        generator = self.choices.pick(
            f"explode({array})",
            f"posexplode({array})",
            f"explode_outer({array})",
            f"explode(str_to_map({name}))",
            f"stack(2, {name}, 'x')",
            f"inline(array(struct({name}, 1)))",
            f"json_tuple({name}, 'a', 'b')",
        )
        if self.choices.chance(0.4):
            view = self.choices.pick("LATERAL VIEW", "LATERAL VIEW OUTER")
            return f"SELECT {', '.join(items)} FROM {relation.text} {view} {generator} g{where}"
        items.append(generator + self.choices.pick("", " AS x"))
        return self.select(relation, items, where)

    def _clauses(self, relation: Relation, items: list[str], where: str) -> str:
        """Clauses that are seldom written."""
        name = self.write.column(relation.columns, "s").reference
        plain = self.select(relation, items, where)
        star = f"SELECT * FROM {relation.text}{where}"
        return self.choices.pick(
            f"{plain} DISTRIBUTE BY {name}",
            f"{plain} CLUSTER BY {name}",
            f"{star} SORT BY {name}",
            plain.replace("SELECT ", "SELECT /*+ REPARTITION(3) */ ", 1),
            plain.replace("SELECT ", "SELECT /*+ COALESCE(1) */ ", 1),
            plain.replace("SELECT ", f"SELECT /*+ REPARTITION(3, {name}) */ ", 1),
            plain.replace("SELECT ", "SELECT ALL ", 1),
            f"SELECT * EXCEPT ({name}) FROM {relation.text}{where}",
            f"SELECT t.* FROM ({plain}) t",
            f"SELECT a FROM (SELECT {name} FROM {relation.text}{where}) AS t(a)",
            f"FROM {relation.text} SELECT {name}{where}",
            f"SELECT {name} AS n, n || 'x' AS m FROM {relation.text}{where}",
            f"{plain} |> LIMIT 3",
            f"SELECT {name}, (SELECT 1) AS one FROM {relation.text}{where}",
            f"SELECT {name} FROM {relation.text}, LATERAL (SELECT {name} AS y){where}",
            f"SELECT {name}, x.col FROM {relation.text} LATERAL VIEW explode(array(1, 2)) x{where}",
            f"SELECT {name}, x FROM {relation.text}, LATERAL explode(split({name}, ',')) t(x)",
            "VALUES (1, 'a'), (2, 'b')",
        )

    def _columns_code(self, relation: Relation) -> str:
        """PySpark's methods over columns."""
        first = self.write.column(relation.columns).name
        value = self.write.scalar(relation.columns)
        text = self.write.reference(self.write.column(relation.columns, "s"))
        second = self.write.column(relation.columns, "s").reference
        steps = [
            f'.withColumn("x", {value})',
            f'.withColumnRenamed("{first}", "renamed")',
            f'.drop("{first}")',
            '.selectExpr("*", "1 AS one")',
            f'.withColumns({{"x": {value}, "y": F.lit(1)}})',
            f'.select("*", {value})',
            ".na.drop()",
            ".fillna(0)",
            f'.select(F.explode(F.split({text}, ",")))',
            f'.where("{first} IS NOT NULL")',
            f".where({self.write.condition(relation.columns)})",
            f'.repartition(3, "{first}")',
            ".repartition(2)",
            ".coalesce(1)",
            f".transform(lambda d: d.where({self.write.condition(relation.columns)}))",
            f'.selectExpr("{first} AS a", "upper({second}) AS b")',
            f'.replace("a", "b", ["{second}"])',
            f'.na.fill("x", ["{second}"])',
            f'.dropna(subset=["{second}"])',
            f'.withColumn("{first}", {value})',
            f'.drop("{first}", "nothing")',
            f'.sortWithinPartitions("{first}")',
            '.hint("rebalance")',
            f'.withColumn("ids", F.array("{second}", F.lit("x")))',
            f'.select(F.struct("{first}", F.lit(1).alias("one")).alias("s")).select("s.*")',
            f'.withColumn("n", {value}).filter(F.col("n").isNotNull())',
            f'.select([F.col(c) for c in ["{second}"]])',
            f'.select(F.col("{second}").alias("k"), {value}.alias("v"))',
            f'.select(F.posexplode(F.split(F.col("{second}"), " ")).alias("p", "word"))',
            '.groupBy().agg(F.count("*").alias("c"))',
        ]
        return relation.text + "".join(self.choices.some(steps, 1, 3))

    def winfn(self) -> Made:
        """Functions OVER a window of rows, which streams refuse."""
        relation = self.stream(watermark=0.3)
        key, order = self.write.column(relation.columns), self.write.column(relation.columns, "t")
        if self.python:
            over = f"PARTITION BY {key.reference} ORDER BY {order.reference}"
            value = f'F.expr("row_number() OVER ({over})")'
            return f'{relation.text}.withColumn("rn", {value})', "append"
        function = self.choices.pick(
            "row_number()", "rank()", "sum(1)", f"lag({key.reference})", "count(*)", "dense_rank()"
        )
        over = f"PARTITION BY {key.reference} ORDER BY {order.reference}"
        items = [self.write.reference(key), f"{function} OVER ({over}) AS rn"]
        return self.select(relation, items), self._mode("append", "update")

    def wm(self) -> Made:
        """Watermarks: renamed, twice, on other types."""
        relation = self.stream(self._timed(), watermark=0.5)
        mode = self._mode("append", "update")
        time = relation.time
        if self.python:
            column = self.write.column(relation.columns, self.choices.pick("t", "t", "t", "c"))
            delay = self.choices.pick(
                "1 minute", "0 seconds", "-1 minute", "1 month", "2 hours 5 minutes", "soon"
            )
            text = f'{relation.text}.withWatermark("{column.name}", "{delay}")'
            if self.choices.chance(0.3):
                text = f'{relation.text}.withColumn("t2", F.col("{time.name}"))'
                text += f'.withWatermark("t2", "{delay}")'
                time = Column(reference="t2", kind="ts")
            return f"{text}.groupBy({self.window(time)}).count()", mode
        source = relation.text.split(" WATERMARK")[0]
        column = self.write.column(relation.columns, self.choices.pick("t", "t", "c"))
        delay = self.choices.pick(
            "INTERVAL 1 MINUTE",
            "INTERVAL '5' SECOND",
            "INTERVAL 1 MONTH",
            "INTERVAL -5 MINUTES",
            "INTERVAL 1 HOUR 30 MINUTES",
            "INTERVAL '1 02' DAY TO HOUR",
        )
        written = self.choices.pick(
            f"{source} WATERMARK {column.reference} DELAY OF {delay}",
            f"{source} WATERMARK date_trunc('minute', {time.reference}) AS mt DELAY OF {delay}",
            f"(SELECT {time.reference} AS b FROM {relation.text})",
            f"(SELECT *, {time.reference} AS b FROM {relation.text}) WATERMARK b DELAY OF {delay}",
        )
        over = {"mt": "mt", "b": "b"}.get(
            "mt" if " mt " in written else "b" if " b" in written else "", time.reference
        )
        window = self.window(Column(reference=over, kind="ts"))
        return f"SELECT {window} AS w, count(*) AS n FROM {written} GROUP BY 1", mode
