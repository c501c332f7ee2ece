"""Random scalar and aggregate expressions over a relation's columns, in SQL or in PySpark."""

from __future__ import annotations

from collections.abc import Sequence

from .catalog import NUMBERS, Column
from .choices import Choices
from .nested_templates import (
    ARRAYS,
    BINARY,
    DECIMALS,
    MAPS,
    NESTED_AGGREGATES,
    STRUCTS,
    TIMES_APART,
)
from .templates import (
    AGGREGATES,
    COMPOUND,
    CONDITIONS,
    ITEMS,
    STRINGS,
    TIMES,
    Template,
)
from .templates import (
    NUMBERS as NUMBER_TEMPLATES,
)

KINDS = {
    "s": ("string",),
    "n": NUMBERS,
    "i": ("int", "long", "short", "byte"),
    "t": ("ts",),
    "d": ("date",),
    "c": ("string", *NUMBERS, "ts", "date", "bool"),
    "a": ("codes",),
    "m": ("scores",),
    "r": ("struct", "window"),
    "v": ("interval",),
    "y": ("binary",),
    "z": ("ntz",),
    "w": ("items",),
    "k": ("decimal",),
}
NESTED = (*ARRAYS, *MAPS, *STRUCTS, *TIMES_APART, *BINARY, *DECIMALS)
DEEPEST = 2


class Expressions:
    """Writes expressions.

    Args:
        choices: where they come from.
        python: PySpark code instead of SQL.
    """

    def __init__(self, choices: Choices, *, python: bool) -> None:
        self.choices = choices
        self.python = python

    def has(self, columns: Sequence[Column], letter: str) -> bool:
        """Whether there is a column for an argument."""
        return any(column.kind in KINDS[letter] for column in columns)

    def column(self, columns: Sequence[Column], letter: str = "c") -> Column:
        """A column that suits an argument, or, where there is none, any other."""
        fitting = [column for column in columns if column.kind in KINDS[letter]]
        return self.choices.one_of(fitting or list(columns))

    def reference(self, column: Column) -> str:
        """The column as an expression."""
        return f'F.col("{column.reference}")' if self.python else column.reference

    def name(self, column: Column) -> str:
        """The column where PySpark takes names too."""
        if self.python and not self.choices.chance(0.3):
            return f'"{column.reference}"'
        return self.reference(column)

    def argument(self, columns: Sequence[Column], letter: str, depth: int) -> str:
        """A value of an argument's kind: mostly a column."""
        if letter == "o":
            return ""
        if letter == "b":
            return self.condition(columns, depth)
        if depth < DEEPEST and self.choices.chance(0.2):
            if letter == "n":
                return self._bracketed(self.number(columns, depth + 1))
            if letter == "s":
                return self.string(columns, depth + 1)
        return self.reference(self.column(columns, letter))

    def _bracketed(self, text: str) -> str:
        return text if self.python or text.isidentifier() else f"({text})"

    def written(self, template: Template, columns: Sequence[Column], depth: int) -> str:
        """A function with arguments drawn for it."""
        outside, self.python = self.python, self.python and template.python is not None
        texts = [self.argument(columns, letter, depth) for letter in template.arguments]
        inside, self.python = self.python, outside
        if inside and template.python is not None:
            return template.python.format(*texts)
        sql = template.sql.format(*texts)
        return f'F.expr("{sql}")' if outside else sql

    def _from(
        self, templates: Sequence[Template], columns: Sequence[Column], depth: int
    ) -> str | None:
        """One whose arguments the columns can give, of a few tries."""
        for _ in range(3 if templates else 0):
            template = self.choices.one_of(templates)
            if self._suits(template, columns):
                return self.written(template, columns, depth)
        return None

    def _suits(self, template: Template, columns: Sequence[Column]) -> bool:
        return all(letter in "ob" or self.has(columns, letter) for letter in template.arguments)

    def _or_column(
        self, templates: Sequence[Template], columns: Sequence[Column], letter: str, depth: int
    ) -> str:
        made = self._from(templates, columns, depth)
        return made or self.reference(self.column(columns, letter))

    def number(self, columns: Sequence[Column], depth: int = 0) -> str:
        """A number."""
        return self._or_column(NUMBER_TEMPLATES, columns, "n", depth + 1)

    def string(self, columns: Sequence[Column], depth: int = 0) -> str:
        """A string."""
        return self._or_column(STRINGS, columns, "s", depth + 1)

    def time(self, columns: Sequence[Column]) -> str:
        """A time or a date."""
        return self._or_column(TIMES, columns, "t", 1)

    def compound(self, columns: Sequence[Column]) -> str:
        """An array, a map, a struct, or a part of one; or what has a type that is seldom met."""
        if self.choices.chance(0.6):
            made = self._from([t for t in NESTED if self._suits(t, columns)], columns, 1)
            if made is not None:
                return made
        if any(column.kind == "items" and column.reference == "items" for column in columns):
            return self._or_column(ITEMS, columns, "c", 1)
        return self._or_column(COMPOUND, columns, "c", 1)

    def condition(self, columns: Sequence[Column], depth: int = 0) -> str:
        """A condition."""
        deep = depth >= DEEPEST
        shallow = [t for t in CONDITIONS if not (deep and "b" in t.arguments)]
        made = self._from(shallow, columns, depth + 1)
        if made is None:
            reference = self.reference(self.column(columns))
            return f"{reference}.isNotNull()" if self.python else f"{reference} IS NOT NULL"
        return made

    def scalar(self, columns: Sequence[Column]) -> str:
        """Anything that a SELECT may hold."""
        kind = self.choices.weighted(
            [(5, "column"), (3, "number"), (3, "string"), (1, "time"), (2, "compound"), (1, "b")]
        )
        if kind == "column":
            return self.reference(self.column(columns))
        if kind == "b":
            return self.condition(columns)
        made: str = getattr(self, kind)(columns)
        return made

    def aggregate(self, columns: Sequence[Column]) -> str:
        """An aggregate, perhaps inside an expression, perhaps with FILTER."""
        made = None
        if self.choices.chance(0.12):
            suiting = [t for t in NESTED_AGGREGATES if self._suits(t, columns)]
            made = self._from(suiting, columns, 1)
        made = made or self._from(AGGREGATES, columns, 1)
        if made is None:
            made = 'F.count("*")' if self.python else "count(*)"
        plain = not self.python and made.endswith(")") and made.count("(") == 1
        if plain and self.choices.chance(0.1):
            return f"{made} FILTER (WHERE {self.condition(columns)})"
        return made

    def named(self, expression: str, name: str) -> str:
        """The expression with a name of its own."""
        return f'{expression}.alias("{name}")' if self.python else f"{expression} AS {name}"
