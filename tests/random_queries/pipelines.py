"""Random queries of several steps, each over the one before: their rules meet each other.

A step is a derived table or a CTE in SQL, a method in PySpark. Columns get plain names as they
pass, so that later steps can name them.
"""

from __future__ import annotations

from collections.abc import Sequence

from .catalog import TABLES, Column, columns_of
from .choices import Choices
from .grouped import Made
from .joins import HOW
from .refused import RefusedQueries
from .relations import Relation, under

STEPS = (
    (5, "filtered"),
    (5, "projected"),
    (4, "aggregated"),
    (3, "matched"),
    (2, "distinct"),
    (2, "united"),
    (2, "exploded"),
    (2, "asked"),
    (2, "paired"),
    (1, "limited"),
    (1, "dropped"),
    (1, "marked"),
)


class Pipelines(RefusedQueries):
    """Queries made step by step."""

    def __init__(self, choices: Choices, *, python: bool) -> None:
        super().__init__(choices, python=python)
        self._parts: list[str] = []

    def pipe(self) -> Made:
        """Two to five steps over a stream."""
        relation = self.plain(self.stream(watermark=0.75))
        self._counted = 0
        for _ in range(2 + self.choices.below(4)):
            relation = getattr(self, f"_{self.choices.weighted(STEPS)}")(relation)
        modes = [(3, "append"), (4, "update"), (3, "complete")]
        if self._counted != 1:
            modes = [(8, "append"), (1, "update"), (self._counted, "complete")]
        mode = self.choices.weighted(modes)
        text = relation.text
        if not self.python:
            text = f"SELECT * FROM {text}" if not text.startswith("(") else text[1:-1]
            text = self.behind_parts(text)
        if mode == "complete" and self.choices.chance(0.4):
            name = relation.columns[-1].name
            order = f'.orderBy(F.desc("{name}"))' if self.python else f" ORDER BY {name} DESC"
            text += order
        return text, mode

    def behind_parts(self, text: str) -> str:
        """The query behind its CTEs."""
        return f"WITH {', '.join(self._parts)} {text}" if self._parts else text

    def plain(self, relation: Relation) -> Relation:
        """The relation, without the fields of its structs."""
        columns = tuple(c for c in relation.columns if "." not in c.reference)
        return Relation(text=relation.text, columns=columns, times=relation.times)

    def _step(self, query: str, columns: Sequence[Column]) -> Relation:
        """A query as the next relation."""
        if not self.python and self.choices.chance(0.25):
            name = f"c{len(self._parts)}"
            self._parts.append(f"{name} AS ({query})")
            query = ""
        relation = self.derived(query, columns)
        if query:
            return relation
        return Relation(text=name, columns=relation.columns, times=relation.times)

    def _filtered(self, relation: Relation) -> Relation:
        over, where = self.filtered(relation, 1.0)
        return (
            over if self.python else self._step(f"SELECT * FROM {over.text}{where}", over.columns)
        )

    def _projected(self, relation: Relation) -> Relation:
        kept = self.choices.some(relation.columns, 1, 4)
        if relation.times and relation.time not in kept and self.choices.chance(0.8):
            kept.append(relation.time)
        items, columns = [self.write.reference(c) for c in kept], list(kept)
        for position in range(self.choices.below(3)):
            kind = self.choices.pick("number", "string", "number", "compound")
            text = getattr(self.write, kind)(relation.columns)
            name = f"p{position}"
            items.append(self.write.named(text, name))
            columns = [c for c in columns if c.name != name]
            kinds = {"number": "double", "string": "string", "compound": "struct"}
            columns.append(Column(reference=name, kind=kinds[kind]))
        return self._step(self.select(relation, items), columns)

    def _aggregated(self, relation: Relation) -> Relation:
        self._counted += 1
        keys, columns = [], []
        if relation.times and self.choices.chance(0.7):
            window = self.window if self.choices.chance(0.85) else None
            made = window(relation.time) if window else self.session(relation)
            keys.append(self.write.named(made, "w"))
            columns.append(Column(reference="w", kind="window"))
        for column in self.choices.some(relation.columns, 0, 2):
            if column.name != "w":
                keys.append(self.write.reference(column))
                columns.append(column)
        aggregates = []
        for position in range(1 + self.choices.below(3)):
            text = self.write.aggregate(relation.columns)
            aggregates.append(self.write.named(text, f"a{position}"))
            columns.append(Column(reference=f"a{position}", kind="long"))
        by = ", ".join(str(i + 1) for i in range(len(keys)))
        query = self.grouped(relation, keys, aggregates, by=None if self.python else by)
        if not self.python and keys and self.choices.chance(0.15):
            query += " HAVING count(*) > 1"
        return self._step(query, columns)

    def _matched(self, relation: Relation) -> Relation:
        """A join with a table."""
        left = self._aliased(relation, "e")
        name, mine, theirs = self._alike(left)
        table = self.table(name, alias="u")
        how = self.choices.pick("inner", "left_outer", "left_semi", "left_anti", "right_outer")
        hint = self.choices.weighted([(8, ""), (1, "broadcast"), (1, "merge")])
        text = self._hinted(table.text, hint)
        whole = self._join_text(left.text, text, how, f"{mine} = {theirs}")
        query = self._both(whole, left, table, how, "u")
        if hint and not self.python:
            text = query.text.replace("SELECT ", f"SELECT /*+ {hint.upper()}(u) */ ", 1)
            return Relation(text=text, columns=query.columns, times=query.times)
        return query

    def _alike(self, left: Relation) -> tuple[str, str, str]:
        """A table, and a column of each side with values of one kind."""
        pairs = [
            (name, mine.reference, f"u.{column.reference}")
            for name, schema in TABLES.items()
            for column in columns_of(schema)
            for mine in left.columns
            if column.kind == mine.kind
        ]
        return self.choices.one_of(pairs or [("users", left.columns[0].reference, "u.user")])

    def _hinted(self, text: str, hint: str) -> str:
        return f'{text}.hint("{hint}")' if hint and self.python else text

    def _join_text(self, left: str, right: str, how: str, condition: str) -> str:
        if self.python:
            return f'{left}.join({right}, F.expr("{condition}"), "{self._spelled(how)}")'
        return f"{left} {HOW[how]} {right} ON {condition}"

    def _both(self, whole: str, left: Relation, right: Relation, how: str, prefix: str) -> Relation:
        """The columns of a join, renamed where they are the right side's."""
        items = [self.write.reference(c) for c in left.columns]
        columns = [Column(reference=c.name, kind=c.kind) for c in left.columns]
        if how not in ("left_semi", "left_anti"):
            for column in self.choices.some(right.columns, 1, 2):
                name = f"{prefix}_{column.name}"
                items.append(self.write.named(self.write.reference(column), name))
                columns.append(Column(reference=name, kind=column.kind))
        joined = Relation(text=whole, columns=left.columns)
        return self._step(self.select(joined, items), self._unique(columns))

    def _paired(self, relation: Relation) -> Relation:
        """A join with another stream, or with itself."""
        other = self.plain(self.stream(self._timed(), watermark=0.85))
        if self.choices.chance(0.2):
            other = relation
        left, right = self._aliased(relation, "l"), self._aliased(other, "r")
        mine = [c for c in left.columns if c.kind == "string"] or list(left.columns)
        theirs = [c for c in right.columns if c.kind == mine[0].kind] or list(right.columns)
        conditions = [f"{mine[0].reference} = {theirs[0].reference}"]
        both = left.times and right.times
        if both and "window" in (left.time.kind, right.time.kind):
            conditions.append(f"{left.time.reference} = {right.time.reference}")
        elif both and self.choices.chance(0.7):
            conditions.append(self._bounds(left.time, right.time))
        how = self.choices.weighted(
            [
                (4, "inner"),
                (2, "left_outer"),
                (1, "right_outer"),
                (1, "left_semi"),
                (1, "full_outer"),
            ]
        )
        whole = self._join_text(left.text, right.text, how, " AND ".join(conditions))
        return self._both(whole, left, right, how, "r")

    def _distinct(self, relation: Relation) -> Relation:
        chosen = self.choices.some(relation.columns, 1, 3)
        names = ", ".join(f'"{c.name}"' for c in chosen)
        if self.python:
            text = relation.text + self.choices.pick(
                f".dropDuplicates([{names}])",
                ".distinct()",
                f".dropDuplicatesWithinWatermark([{names}])",
            )
            return Relation(text=text, columns=relation.columns, times=relation.times)
        items = ", ".join(self.write.reference(c) for c in chosen)
        return self._step(f"SELECT DISTINCT {items} FROM {relation.text}", chosen)

    def _united(self, relation: Relation) -> Relation:
        """With a stream of the same kinds of columns, or with itself."""
        other = self.plain(self.stream(self._timed(), watermark=0.75))
        items = []
        for column in relation.columns:
            same = [c for c in other.columns if c.kind == column.kind]
            null = "F.lit(None)" if self.python else "NULL"
            value = self.write.reference(self.choices.one_of(same)) if same else null
            items.append(self.write.named(value, column.name))
        branch = self.select(other, items)
        if self.choices.chance(0.2):
            branch = relation.text if self.python else f"SELECT * FROM {relation.text}"
        if self.python:
            method = self.choices.pick("union", "unionByName")
            text = f"{relation.text}.{method}({branch})"
            return Relation(text=text, columns=relation.columns, times=relation.times)
        kept = ", ".join(self.write.reference(c) for c in relation.columns)
        word = self.choices.weighted([(8, "UNION ALL"), (1, "UNION")])
        return self._step(f"SELECT {kept} FROM {relation.text} {word} {branch}", relation.columns)

    def _exploded(self, relation: Relation) -> Relation:
        arrays = [c for c in relation.columns if c.kind in ("items", "codes", "scores")]
        kept = [c for c in relation.columns if c not in arrays]
        if arrays:
            column = self.choices.one_of(arrays)
            value = self.write.reference(column)
            kind = {"items": "struct", "codes": "int", "scores": "double"}[column.kind]
        else:
            text = self.write.reference(self.write.column(relation.columns, "s"))
            value = f'F.split({text}, ",")' if self.python else f"split({text}, ',')"
            column, kind = Column(reference="x", kind="codes"), "string"
        outer = "_outer" if self.choices.chance(0.3) else ""
        if column.kind == "scores":
            fresh = [Column(reference="xk", kind="string"), Column(reference="xv", kind=kind)]
        else:
            fresh = [Column(reference="x", kind=kind)]
        kept = [c for c in kept if c.name not in ("x", "xk", "xv")]
        items = [self.write.reference(c) for c in kept]
        names = [c.name for c in fresh]
        columns = self._unique([*kept, *fresh])
        if self.python:
            quoted = ", ".join(f'"{name}"' for name in names)
            items.append(f"F.explode{outer}({value}).alias({quoted})")
            return self._step(self.select(relation, items), columns)
        if self.choices.chance(0.5):
            view = (
                f"LATERAL VIEW {'OUTER ' if outer else ''}explode({value}) g AS {', '.join(names)}"
            )
            items += names
            return self._step(f"SELECT {', '.join(items)} FROM {relation.text} {view}", columns)
        named = names[0] if len(names) == 1 else f"({', '.join(names)})"
        items.append(f"explode{outer}({value}) AS {named}")
        return self._step(self.select(relation, items), columns)

    def _asked(self, relation: Relation) -> Relation:
        """A condition with a subquery; in code a semi or anti join."""
        if self.python:
            return self._matched(relation)
        left = self._aliased(relation, "e")
        name, mine, theirs = self._alike(left)
        condition = self.subquery(mine, theirs, self.table(name, alias="u"))
        if self.choices.chance(0.3):
            condition += self.choices.pick(" AND ", " OR ") + self.write.condition(left.columns)
        text = f"SELECT * FROM {left.text} WHERE {condition}"
        return self._step(text, relation.columns)

    def subquery(self, mine: str, theirs: str, table: Relation) -> str:
        """A condition that asks a table about a value of the row, in SQL."""
        inner = f" AND {self.write.condition(table.columns)}" if self.choices.chance(0.4) else ""
        only = inner.replace(" AND ", " WHERE ", 1)
        other = self.write.column(table.columns, "n").reference
        rows = f"FROM {table.text}"
        return self.choices.pick(
            f"{mine} IN (SELECT {theirs} {rows}{only})",
            f"EXISTS (SELECT 1 {rows} WHERE {theirs} = {mine}{inner})",
            f"{mine} NOT IN (SELECT {theirs} {rows}{only})",
            f"NOT EXISTS (SELECT 1 {rows} WHERE {theirs} = {mine}{inner})",
            f"{mine} = (SELECT max({theirs}) {rows}{only})",
            f"(SELECT count(*) {rows} WHERE {theirs} = {mine}{inner}) > 1",
            f"(SELECT max({other}) {rows} WHERE {theirs} = {mine}{inner}) > 3",
            f"EXISTS (SELECT 1 {rows}{only})",
            f"({mine}, 1) IN (SELECT {theirs}, {other} {rows}{only})",
            f"{mine} > (SELECT avg({other}) {rows}{only})",
            f"{mine} IN (SELECT {theirs} {rows}{only} GROUP BY {theirs} HAVING count(*) > 1)",
            f"{mine} IN (SELECT {theirs} {rows}{only} ORDER BY {other} LIMIT 3)",
            f"(SELECT sum({other}) {rows} WHERE {theirs} = {mine} AND {other} > 1) IS NULL",
            f"coalesce((SELECT first({other}) {rows} WHERE {theirs} = {mine}), 0) = 0",
            f"{mine} IN (SELECT {theirs} {rows} UNION SELECT {theirs} {rows}{only})",
        )

    def _limited(self, relation: Relation) -> Relation:
        count = self.choices.pick(10, 3, 0)
        if self.python:
            text = f"{relation.text}.limit({count})"
            return Relation(text=text, columns=relation.columns, times=relation.times)
        return self._step(f"SELECT * FROM {relation.text} LIMIT {count}", relation.columns)

    def _dropped(self, relation: Relation) -> Relation:
        gone = self.choices.one_of(relation.columns)
        kept = [c for c in relation.columns if c is not gone] or list(relation.columns)
        if self.python:
            return self._step(f'{relation.text}.drop("{gone.name}")', kept)
        return self._step(f"SELECT * EXCEPT ({gone.name}) FROM {relation.text}", kept)

    def _marked(self, relation: Relation) -> Relation:
        """A watermark in the middle."""
        if not relation.times:
            return relation
        name, delay = relation.time.name, self.choices.pick("1 minute", "2 hours")
        if self.python:
            text = f'{relation.text}.withWatermark("{name}", "{delay}")'
        elif " WATERMARK " in relation.text and not relation.text.endswith(")"):
            return relation  # no two on one table
        else:
            text = f"{relation.text} WATERMARK {name} DELAY OF INTERVAL {delay.upper()}"
        return Relation(text=text, columns=relation.columns, times=relation.times)

    def _aliased(self, relation: Relation, alias: str) -> Relation:
        text = relation.text + (f'.alias("{alias}")' if self.python else f" {alias}")
        columns = tuple(under(alias, c) for c in relation.columns)
        times = tuple(c for c in columns if c.kind in ("ts", "window"))
        return Relation(text=text, columns=columns, times=times)

    def _unique(self, columns: Sequence[Column]) -> list[Column]:
        return list({c.name: c for c in columns}.values())
