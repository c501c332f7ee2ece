"""What every family of random queries is built from: sources, watermarks, windows, steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .catalog import STREAMS, TABLES, Column, columns_of
from .choices import Choices
from .expressions import Expressions

DELAYS = ("5 minutes", "10 seconds", "1 minute", "10 minutes", "1 hour", "2 hours", "1 day")
SPANS = ("5 minutes", "10 seconds", "1 minute", "10 minutes", "1 hour", "30 seconds", "1 day")
SLIDES = (
    ("10 minutes", "5 minutes"),
    ("1 hour", "15 minutes"),
    ("10 seconds", "2 seconds"),
    ("10 minutes", "3 minutes"),
    ("1 day", "12 hours"),
    ("5 minutes", "5 minutes"),
)
OFFSETS = (
    ("1 hour", "1 hour", "15 minutes"),
    ("1 minute", "1 minute", "5 seconds"),
    ("10 minutes", "5 minutes", "1 minute"),
    ("1 day", "1 day", "8 hours"),
)


@dataclass(frozen=True, kw_only=True)
class Relation:
    """Something to read from.

    Attributes:
        text: what stands behind FROM, or PySpark code that gives a DataFrame.
        columns: what it has.
        times: those of its columns that are times; the one with the watermark first.
    """

    text: str
    columns: tuple[Column, ...]
    times: tuple[Column, ...] = ()

    @property
    def time(self) -> Column:
        """The event time, or, where there is none, any column."""
        return self.times[0] if self.times else self.columns[0]


class Relations:
    """Builds relations and queries of one spelling.

    Args:
        choices: where they come from.
        python: PySpark code instead of SQL.
    """

    def __init__(self, choices: Choices, *, python: bool) -> None:
        self.choices = choices
        self.python = python
        self.write = Expressions(choices, python=python)

    # ----------------------------------------------------------------------------------- sources

    def stream(
        self, name: str | None = None, *, watermark: float = 0.6, alias: str | None = None
    ) -> Relation:
        """A stream, with a watermark so often."""
        name = name or self.choices.one_of([n for n in STREAMS if n != "words"])
        columns = columns_of(STREAMS[name])
        times = [column for column in columns if column.kind == "ts"]
        delay = None
        if times and self.choices.chance(watermark):
            delay = self.choices.one_of(DELAYS)
        return self._source(name, columns, times, delay, alias, streaming=True)

    def table(self, name: str | None = None, *, alias: str | None = None) -> Relation:
        """A table at rest."""
        name = name or self.choices.one_of(list(TABLES))
        return self._source(name, columns_of(TABLES[name]), [], None, alias, streaming=False)

    def _source(
        self,
        name: str,
        columns: Sequence[Column],
        times: Sequence[Column],
        delay: str | None,
        alias: str | None,
        *,
        streaming: bool,
    ) -> Relation:
        if self.python:
            text = name
            if delay is not None:
                text += f'.withWatermark("{times[0].name}", "{delay}")'
            if alias is not None:
                text += f'.alias("{alias}")'
        else:
            text = name
            if streaming:
                text = self.choices.weighted([(12, f"STREAM {name}"), (2, f"STREAM({name})")])
            if delay is not None:
                text += f" WATERMARK {times[0].name} DELAY OF INTERVAL {delay.upper()}"
            if alias is not None:
                text += self.choices.pick(f" AS {alias}", f" {alias}")
        if alias is not None:
            columns = [under(alias, column) for column in columns]
            times = [under(alias, column) for column in times]
        return Relation(text=text, columns=tuple(columns), times=tuple(times))

    def filtered(self, relation: Relation, probability: float = 0.35) -> tuple[Relation, str]:
        """The relation and its WHERE: in code the filter is part of the relation."""
        if not self.choices.chance(probability):
            return relation, ""
        if not self.python:
            return relation, f" WHERE {self.write.condition(relation.columns)}"
        method = self.choices.pick("where", "filter")
        text = f"{relation.text}.{method}({self.write.condition(relation.columns)})"
        return Relation(text=text, columns=relation.columns, times=relation.times), ""

    def derived(self, query: str, columns: Sequence[Column], alias: str | None = None) -> Relation:
        """A query as a relation."""
        times = tuple(column for column in columns if column.kind in ("ts", "window"))
        if self.python:
            text = query if alias is None else f'{query}.alias("{alias}")'
        else:
            text = f"({query})" + ("" if alias is None else f" {alias}")
        if alias is not None:
            columns = [under(alias, column) for column in columns]
            times = tuple(under(alias, column) for column in times)
        return Relation(text=text, columns=tuple(columns), times=times)

    # ----------------------------------------------------------------------------------- windows

    def window(self, time: Column) -> str:
        """A tumbling, sliding or shifted window over a time."""
        shape = self.choices.weighted([(6, "tumbling"), (3, "sliding"), (1, "offset")])
        if shape == "tumbling":
            parts: Sequence[str] = (self.choices.one_of(SPANS),)
        else:
            parts = self.choices.one_of(SLIDES if shape == "sliding" else OFFSETS)
        return self._call("window", time, parts)

    def session(self, relation: Relation) -> str:
        """A session window, its gap mostly constant."""
        gap = self.choices.one_of(SPANS)
        if self.choices.chance(0.2):
            condition = self.write.condition(relation.columns)
            if self.python:
                gap_code = f'F.when({condition}, "5 seconds").otherwise("{gap}")'
                return f"F.session_window({self.write.name(relation.time)}, {gap_code})"
            gap_sql = f"CASE WHEN {condition} THEN '5 seconds' ELSE '{gap}' END"
            return f"session_window({relation.time.reference}, {gap_sql})"
        return self._call("session_window", relation.time, (gap,))

    def _call(self, function: str, time: Column, parts: Sequence[str]) -> str:
        if not self.python:
            quoted = "".join(f", '{part}'" for part in parts)
            return f"{function}({time.reference}{quoted})"
        if len(parts) == 3 and parts[0] == parts[1]:
            return f'F.window({self.write.name(time)}, "{parts[0]}", startTime="{parts[2]}")'
        quoted = "".join(f', "{part}"' for part in parts)
        return f"F.{function}({self.write.name(time)}{quoted})"

    # ------------------------------------------------------------------------------------- steps

    def select(self, relation: Relation, items: Sequence[str], where: str = "") -> str:
        """A projection."""
        if self.python:
            return f"{relation.text}.select({', '.join(items)})"
        return f"SELECT {', '.join(items)} FROM {relation.text}{where}"

    def grouped(
        self,
        relation: Relation,
        keys: Sequence[str],
        aggregates: Sequence[str],
        where: str = "",
        by: str | None = None,
    ) -> str:
        """An aggregation; `by` is what stands behind GROUP BY where that is not the keys."""
        if self.python:
            text = relation.text
            if keys or self.choices.chance(0.5):
                text += f".groupBy({', '.join(keys)})"
            return f"{text}.agg({', '.join(aggregates)})"
        text = f"SELECT {', '.join([*keys, *aggregates])} FROM {relation.text}{where}"
        if by is None and keys:
            by = ", ".join(key.split(" AS ")[0] if " AS " in key else key for key in keys)
            if self.choices.chance(0.4):
                by = ", ".join(str(i + 1) for i in range(len(keys)))
        return f"{text} GROUP BY {by}" if by else text

    def aggregates(self, relation: Relation, most: int = 3) -> list[str]:
        """One or several aggregates, most of them named."""
        count = 1 + self.choices.below(most)
        made = []
        for position in range(count):
            text = self.write.aggregate(relation.columns)
            if self.choices.chance(0.3):
                made.append(text)
            else:
                made.append(self.write.named(text, f"a{position}"))
        return made

    def counted(self, relation: Relation, key: Column | None, window: str | None) -> Relation:
        """Counts by window and key as a relation: the first operator of a chain."""
        keys, columns = [], []
        if window is not None:
            keys.append(self.write.named(window, "w"))
            columns.append(Column(reference="w", kind="window"))
        if key is not None:
            keys.append(self.write.reference(key))
            columns.append(Column(reference=key.name, kind=key.kind))
        count = self.write.named('F.count("*")' if self.python else "count(*)", "n")
        columns.append(Column(reference="n", kind="long"))
        by = None if self.python else ", ".join(str(i + 1) for i in range(len(keys)))
        return self.derived(self.grouped(relation, keys, [count], by=by), columns)


def under(alias: str, column: Column) -> Column:
    """The column under a relation's alias."""
    return Column(reference=f"{alias}.{column.reference}", kind=column.kind)
