"""Random queries with pipe operators: each `|>` over the columns that the one before leaves."""

from __future__ import annotations

from .catalog import NUMBERS, Column
from .grouped import Made
from .mixed import MixedQueries
from .relations import Relation

JOINS = ("JOIN", "LEFT JOIN", "INNER JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "RIGHT JOIN")
SETS = ("UNION ALL", "UNION", "INTERSECT", "EXCEPT ALL", "MINUS", "UNION DISTINCT")


class PipedQueries(MixedQueries):
    """Queries in pipe syntax, some of them with a mistake."""

    def piped(self) -> Made:
        """A source and a few operators behind it."""
        if self.python:
            return self.proj()
        relation = self.stream(watermark=0.7)
        text = self._before_pipe(relation)
        mode = self.choices.weighted([(6, "append"), (3, "update"), (2, "complete")])
        for position in range(1 + self.choices.below(5)):
            text, relation = self._piped(text, relation, position)
        return self._around_pipe(text, relation), mode

    def _before_pipe(self, relation: Relation) -> str:
        simple = relation.text.split(" ")
        options = [(8, f"FROM {relation.text}"), (1, f"SELECT * FROM {relation.text}")]
        if simple[0] == "STREAM" and len(simple) == 2:
            options.append((3, f"TABLE {simple[1]}"))
        return self.choices.weighted(options)

    def _around_pipe(self, text: str, relation: Relation) -> str:
        first = relation.columns[0].reference.split(".")[-1]
        return self.choices.weighted(
            [
                (14, text),
                (1, f"WITH q AS ({text}) FROM q |> SELECT *"),
                (1, f"SELECT * FROM ({text}) AS q"),
                (1, f"({text}) |> SELECT {first}"),
                (1, f"FROM ({text}) AS q |> EXTEND q.{first} AS again"),
                (1, f"{text} LIMIT 7"),
                (1, text.replace("|>", "|")),
            ]
        )

    def _piped(self, text: str, relation: Relation, position: int) -> tuple[str, Relation]:
        kind = self.choices.weighted(
            [
                (5, "where"),
                (5, "extend"),
                (4, "select"),
                (3, "set"),
                (2, "drop"),
                (2, "name"),
                (6, "aggregate"),
                (3, "joined"),
                (2, "combined"),
                (2, "organized"),
                (1, "turned"),
                (2, "slip"),
            ]
        )
        step, columns = getattr(self, f"_pipe_{kind}")(text, relation, position)
        times = tuple(column for column in columns if column.kind in ("ts", "window"))
        return f"{text} |> {step}", Relation(text="", columns=tuple(columns), times=times)

    # --------------------------------------------------------------- steps: text and what it leaves

    def _pipe_where(self, text: str, relation: Relation, position: int) -> tuple[str, list[Column]]:
        return f"WHERE {self.write.condition(relation.columns)}", list(relation.columns)

    def _pipe_column(self, relation: Relation, name: str) -> tuple[str, Column]:
        """An expression with a name, and the column that it makes."""
        kind = self.choices.weighted([(3, "column"), (3, "number"), (3, "string"), (1, "scalar")])
        if kind == "column":
            column = self.write.column(relation.columns)
            return f"{column.reference} AS {name}", Column(reference=name, kind=column.kind)
        made = getattr(self.write, kind)(relation.columns)
        known = {"number": "double", "string": "string"}.get(kind, "other")
        return f"{made} AS {name}", Column(reference=name, kind=known)

    def _pipe_extend(
        self, text: str, relation: Relation, position: int
    ) -> tuple[str, list[Column]]:
        columns, items = list(relation.columns), []
        seen = relation
        for number in range(1 + self.choices.below(3)):
            item, column = self._pipe_column(seen, f"e{position}{number}")
            if self.choices.chance(0.2):
                item = item.rsplit(" AS ", 1)[0]
            else:
                columns.append(column)
            items.append(item)
            if self.choices.chance(0.3):  # the next may use it
                seen = Relation(text="", columns=tuple(columns), times=relation.times)
        return f"EXTEND {', '.join(items)}", columns

    def _pipe_select(
        self, text: str, relation: Relation, position: int
    ) -> tuple[str, list[Column]]:
        if self.choices.chance(0.2):
            keys = [c for c in self.choices.some(relation.columns, 1, 2) if "." not in c.reference]
            if keys:
                names = ", ".join(column.reference for column in keys)
                total = self.write.aggregate(relation.columns)
                made = Column(reference=f"s{position}", kind="long")
                step = f"SELECT {names}, {total} AS s{position} GROUP BY {names}"
                return step, [*keys, made]
        kept = [c for c in self.choices.some(relation.columns, 1, 4) if "." not in c.reference]
        items, columns = [column.reference for column in kept], list(kept)
        for number in range(self.choices.below(2) if kept else 1):
            item, column = self._pipe_column(relation, f"s{position}{number}")
            items.append(item)
            columns.append(column)
        word = "SELECT DISTINCT" if self.choices.chance(0.15) else "SELECT"
        return f"{word} {', '.join(items)}", columns

    def _pipe_set(self, text: str, relation: Relation, position: int) -> tuple[str, list[Column]]:
        plain = [c for c in relation.columns if "." not in c.reference] or list(relation.columns)
        assigned = []
        for column in self.choices.some(plain, 1, 2):
            write = self.write.number if column.kind in NUMBERS else self.write.string
            assigned.append(f"{column.reference} = {write(relation.columns)}")
        return f"SET {', '.join(assigned)}", list(relation.columns)

    def _pipe_drop(self, text: str, relation: Relation, position: int) -> tuple[str, list[Column]]:
        gone = self.choices.some(relation.columns, 1, 2)
        names = {column.reference for column in gone}
        kept = [c for c in relation.columns if c.reference.split(".")[0] not in names]
        kept = [c for c in kept if c.reference not in names]
        if not kept:
            return f"AS t{position}", list(relation.columns)
        return f"DROP {', '.join(sorted(names))}", kept

    def _pipe_name(self, text: str, relation: Relation, position: int) -> tuple[str, list[Column]]:
        plain = [c for c in relation.columns if "." not in c.reference] or list(relation.columns)
        if self.choices.chance(0.5):
            plain = [Column(reference=f"t{position}.{c.reference}", kind=c.kind) for c in plain]
        return f"AS t{position}", plain

    def _pipe_aggregate(
        self, text: str, relation: Relation, position: int
    ) -> tuple[str, list[Column]]:
        items, columns = [], []
        for number in range(self.choices.below(3)):
            item = self.write.aggregate(relation.columns)
            if self.choices.chance(0.8):
                item = f"{item} AS a{position}{number}"
                columns.append(Column(reference=f"a{position}{number}", kind="long"))
            items.append(item)
        keys, made = [], []
        times = [column for column in relation.times if column.kind == "ts"]
        if times and self.choices.chance(0.6):
            window = self.window(times[0])
            if self.choices.chance(0.15):
                window = self.session(relation)
            keys.append(f"{window} AS w{position}")
            made.append(Column(reference=f"w{position}", kind="window"))
        for number in range(self.choices.below(3)):
            column = self.write.column(relation.columns)
            if self.choices.chance(0.1):
                keys.append(str(1 + self.choices.below(4)))
            elif self.choices.chance(0.3):
                item, computed = self._pipe_column(relation, f"k{position}{number}")
                keys.append(item)
                made.append(computed)
            else:
                keys.append(column.reference)
                made.append(Column(reference=column.name, kind=column.kind))
        if not keys and not items:
            items = ["count(*) AS n"]
            columns = [Column(reference="n", kind="long")]
        step = " ".join(["AGGREGATE", ", ".join(items)]).strip()
        if keys:
            step += f" GROUP BY {', '.join(keys)}"
        return step, [*made, *columns] or list(relation.columns)

    def _pipe_joined(
        self, text: str, relation: Relation, position: int
    ) -> tuple[str, list[Column]]:
        alias = f"j{position}"
        if self.choices.chance(0.3):
            other = self.stream(watermark=0.8, alias=alias)
        else:
            other = self.table(alias=alias)
        word = self.choices.one_of(JOINS)
        mine, theirs = self.write.column(relation.columns), self.write.column(other.columns)
        same = [c for c in other.columns if c.kind == mine.kind]
        theirs = self.choices.one_of(same) if same else theirs
        columns = [*relation.columns]
        if "SEMI" not in word and "ANTI" not in word:
            columns += other.columns
        if self.choices.chance(0.2):
            inner = f"(SELECT {theirs.reference} AS l{position} FROM {other.text})"
            made = Column(reference=f"l{position}", kind=theirs.kind)
            return f"JOIN LATERAL {inner}", [*relation.columns, made]
        if mine.name == theirs.name and self.choices.chance(0.5):
            return f"{word} {other.text} USING ({mine.name})", columns
        return f"{word} {other.text} ON {mine.reference} = {theirs.reference}", columns

    def _pipe_combined(
        self, text: str, relation: Relation, position: int
    ) -> tuple[str, list[Column]]:
        word = self.choices.weighted([(6, SETS[0]), *((1, other) for other in SETS[1:])])
        plain = [c for c in relation.columns if "." not in c.reference] or list(relation.columns)
        return f"{word} ({text})", plain

    def _pipe_organized(
        self, text: str, relation: Relation, position: int
    ) -> tuple[str, list[Column]]:
        name = self.write.column(relation.columns).reference
        step = self.choices.pick(
            "LIMIT 5",
            f"ORDER BY {name}",
            f"ORDER BY {name} DESC NULLS LAST",
            "LIMIT 5 OFFSET 1",
            f"SORT BY {name}",
            f"DISTRIBUTE BY {name}",
            f"CLUSTER BY {name}",
            f"DISTRIBUTE BY {name} SORT BY {name}",
            "ORDER BY 1",
            "LIMIT ALL",
        )
        return step, list(relation.columns)

    def _pipe_turned(
        self, text: str, relation: Relation, position: int
    ) -> tuple[str, list[Column]]:
        number = self.write.column(relation.columns, "n").reference
        word = self.write.column(relation.columns, "s")
        if self.choices.chance(0.3):
            return "TABLESAMPLE (10 PERCENT) REPEATABLE (3)", list(relation.columns)
        if self.choices.chance(0.5):
            values = [Column(reference="v", kind="double"), Column(reference="k", kind="string")]
            return f"UNPIVOT (v FOR k IN ({number}))", values
        values = [Column(reference="one", kind="double")]
        return f"PIVOT (sum({number}) FOR {word.reference} IN ('a' AS one, 'b'))", values

    def _pipe_slip(self, text: str, relation: Relation, position: int) -> tuple[str, list[Column]]:
        """What pipes refuse, most of it."""
        name = self.write.column(relation.columns).reference
        number = self.write.column(relation.columns, "n").reference
        return self.choices.pick(
            f"EXTEND max({number}) AS x",
            f"SET {name} = sum({number})",
            f"SELECT {name}, max({number})",
            f"AGGREGATE {name}",
            f"AGGREGATE {name} GROUP BY {name}",
            f"AGGREGATE count(*) AS n, n + 1 AS m GROUP BY {name}",
            "AGGREGATE",
            f"AGGREGATE count(*) GROUP BY ROLLUP({name})",
            f"AGGREGATE count(*) GROUP BY {name} WITH CUBE",
            f"AGGREGATE count(*) GROUP BY {name}, {number} GROUPING SETS (({name}))",
            "AGGREGATE count(*) GROUP BY ALL",
            f"AGGREGATE grouping({name}) GROUP BY {name}",
            f"AGGREGATE sum({number}) OVER (PARTITION BY {name}) GROUP BY {name}",
            "AGGREGATE count(*) GROUP BY 99",
            f"WHERE max({number}) > 1",
            f"WHERE row_number() OVER (ORDER BY {name}) = 1",
            f"WHERE {name} IS NULL WINDOW w AS (ORDER BY {name})",
            "SET nothing = 1",
            f"SET t.{name.split('.')[-1]} = 1",
            "DROP nothing",
            f"DROP {name}, {name}",
            "WHERE nothing > 1",
            "EXTEND *",
            f"EXTEND {name} AS x, x AS y, nothing AS z",
            f"ORDER BY {name} LIMIT 3",
            f"ORDER BY {name} OFFSET 3",
            f"ORDER BY {name} SORT BY {name}",
            f"ORDER BY {name} WINDOW w AS (ORDER BY {name})",
            f"SELECT {name}, row_number() OVER w AS r WINDOW w AS (ORDER BY {name})",
            f"EXTEND row_number() OVER w AS r |> SELECT {name} WINDOW w AS (ORDER BY {name})",
            f"PIVOT (max({number}) FOR {name} IN (1)) UNPIVOT (a FOR b IN (c))",
            f"GROUP BY {name}",
            f"SELECT {name} WHERE {name} IS NULL",
            f"SELECT {name} |> WHERE {number} > 1",
            f"SELECT {number} AS z1 |> ORDER BY {number}",
            f"EXTEND explode(array({number}, 1)) AS x",
            f"EXTEND {name} AS x |> EXTEND 1 AS x |> SELECT x",
            f"EXTEND (SELECT max(n) FROM rates) AS x |> DROP {name}",
            f"WHERE {number} IN (TABLE rates |> SELECT n)",
            f"WHERE EXISTS (FROM rates r |> WHERE r.n = {number} |> SELECT r.k)",
        ), list(relation.columns)
