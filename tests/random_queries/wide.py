"""Random queries of every known function, in every place that takes an expression."""

from __future__ import annotations

from pathlib import Path

from .catalog import Column, columns_of
from .grouped import Made
from .pipelines import Pipelines
from .relations import Relation

EXPRESSIONS = (Path(__file__).parent.parent / "function_expressions.txt").read_text().splitlines()


class WideQueries(Pipelines):
    """Queries over the stream `wide`, which has a column of every type."""

    def func(self) -> Made:
        """Functions in a SELECT, a WHERE, as keys and below aggregates."""
        relation = self._wide()
        shape = self.choices.pick("select", "key", "aggregate", "where", "joined", "derived")
        mode = self.choices.pick("append", "update", "complete")
        first, second = self.function(), self.function()
        if shape == "select":
            items = [first, self.write.named(second, "x"), self.write.scalar(relation.columns)]
            return self.select(relation, items), "append"
        if shape == "key":
            key = self.write.named(first, "k")
            return self.grouped(
                relation, [key], self.aggregates(relation, 2), by=self._first()
            ), mode
        if shape == "aggregate":
            function = self.choices.pick("max", "count", "first", "collect_list", "min", "last")
            value = f"F.{function}({first})" if self.python else f"{function}({first})"
            keys = ['"user"' if self.python else "user"]
            return self.grouped(relation, keys, [self.write.named(value, "v")]), mode
        if shape == "where":
            return self._where(relation, first, second), "append"
        if shape == "joined":
            return self._with_table(relation, first), "append"
        return self._twice(relation, first), "append"

    def function(self) -> str:
        """A known function of the stream's columns."""
        text = self.choices.one_of(EXPRESSIONS)
        if not self.python:
            return text
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'F.expr("{quoted}")'

    def _wide(self) -> Relation:
        relation = self.stream("wide", watermark=0.3)
        plain = tuple(c for c in relation.columns if "." not in c.reference)
        return Relation(text=relation.text, columns=plain, times=relation.times)

    def _first(self) -> str | None:
        return None if self.python else "1"

    def _where(self, relation: Relation, first: str, second: str) -> str:
        if self.python:
            test = self.choices.pick(f"{first}.isNotNull()", f"({first} == {second})", first)
            return f'{relation.text}.where({test}).select("user", {second})'
        test = self.choices.pick(
            f"({first}) IS NOT NULL", f"({first}) = ({second})", first, f"({first}) IN ({second})"
        )
        return f"SELECT user, {second} FROM {relation.text} WHERE {test}"

    def _with_table(self, relation: Relation, first: str) -> str:
        how = self.choices.pick("inner", "left_outer", "left_semi")
        if self.python:
            left = f"{relation.text}.withColumn('x', {first}).alias('e')"
            return f'{left}.join(users.alias("u"), F.expr("e.user = u.user"), "{how}").select("x")'
        left = f"(SELECT *, {first} AS x FROM {relation.text}) e"
        word = {"inner": "JOIN", "left_outer": "LEFT JOIN", "left_semi": "LEFT SEMI JOIN"}[how]
        return f"SELECT x FROM {left} {word} users u ON e.user = u.user AND x IS NOT NULL"

    def _twice(self, relation: Relation, first: str) -> str:
        """A value that is named, then used several times above."""
        columns = (Column(reference="x", kind="double"), *columns_of("user STRING, qty INT"))
        items = [self.write.named(first, "x"), *(self.write.reference(c) for c in columns[1:])]
        inner = self.derived(self.select(relation, items), columns)
        over = [self.write.reference(columns[0]), self.write.scalar(columns)]
        if self.python:
            over.append('F.coalesce("x", "x").alias("y")')
            return self.select(inner, over)
        over.append("(x IS NULL) AS y")
        where = self.choices.pick("", " WHERE x IS NOT NULL", " WHERE qty > 1")
        return self.select(inner, over, where)
