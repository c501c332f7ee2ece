"""Whole queries that are compared: guards against failures, relational steps, readers.

A program is Python that leaves a DataFrame in `result`; it finds a session in `spark`, the rows of
all types in `rows` and a directory in `place`. Only sorted rows are compared in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from stateplan.runtime.engines.rewrites import comparable, lazy_sql
from stateplan.runtime.engines.signatures import Signature

from .cases import sql_of
from .columns import MOVED, NESTED, TYPES, column_of, type_of
from .reader_programs import reader_programs
from .window_programs import window_steps


@dataclass(frozen=True)
class Program:
    """One query that stands for a signature in a section of the table."""

    section: str
    signature: Signature
    text: str
    ordered: bool = False


_FAILING = (
    "(10 / id)",
    "CAST(10 % id AS DOUBLE)",
    "CAST(CAST(IF(id = 0, 'x', '1') AS STRING) AS DOUBLE)",
)
_LATER = "({0} > 1)"
_GUARDS = {
    ("and", "boolean"): (f"(id <> 0 AND {_LATER})",),
    ("or", "boolean"): (f"(id = 0 OR {_LATER})",),
    ("in", "boolean"): ("CAST(id AS DOUBLE) IN (0D, {0})",),
    ("if", ""): ("IF(id <> 0, {0}, 0.5D)", "IF(id = 0, 0.5D, {0})"),
    ("if", "boolean"): (f"IF(id <> 0, {_LATER}, false)",),
    ("case", ""): (
        "CASE WHEN id <> 0 THEN {0} END",
        "CASE WHEN id = 0 THEN 1D WHEN {0} > 1 THEN 2D END",
        "CASE WHEN id = 0 THEN 1D ELSE {0} END",
    ),
    ("case", "boolean"): (f"CASE WHEN id <> 0 THEN {_LATER} ELSE false END",),
    ("coalesce", ""): ("coalesce(IF(id = 0, 1D, NULL), {0})",),
    ("coalesce", "boolean"): (f"coalesce(IF(id = 0, true, NULL), {_LATER})",),
    ("nvl", ""): ("nvl(IF(id = 0, 1D, NULL), {0})",),
    ("ifnull", ""): ("ifnull(IF(id = 0, 1D, NULL), {0})",),
    ("nvl2", ""): ("nvl2(NULLIF(id, 0), {0}, 1D)",),
    ("and lazy", "boolean"): (lazy_sql("and", 2).format("(id <> 0)", _LATER),),
    ("or lazy", "boolean"): (lazy_sql("or", 2).format("(id = 0)", _LATER),),
    ("if lazy", "boolean"): (lazy_sql("if", 3).format("(id <> 0)", _LATER, "false"),),
    ("case lazy", "boolean"): (lazy_sql("case", 3).format("(id <> 0)", _LATER, "false"),),
}


def guard_programs() -> list[Program]:
    """Whether what would fail is left alone where Spark does not compute it."""
    found = []
    for (name, kind), forms in _GUARDS.items():
        items = [form.replace("{0}", failing) for form in forms for failing in _FAILING]
        named = ", ".join(repr(f"{item} AS v{i}") for i, item in enumerate(items))
        text = f"result = spark.range(-3, 4).coalesce(1).selectExpr('id', {named}).orderBy('id')"
        found.append(Program("guards", Signature(name, kind), text))
    chained = "rows.select('id').filter('id <> 0').filter('10 / id > 1')"
    found.append(Program("guards", Signature("filter over filter", ""), f"result = {chained}"))
    projected = "rows.select('id').filter('id <> 0').selectExpr('id', '10 / id AS v')"
    found.append(Program("guards", Signature("project over filter", ""), f"result = {projected}"))
    return found


def step_programs() -> list[Program]:
    """Groups, orders, windows, joins, unions and generators over keys of every type."""
    found = []

    def add(step: str, kind: str, text: str, *, ordered: bool = False) -> None:
        from stateplan.runtime.engines.signatures import kinds

        for one in kinds(type_of(kind)):
            found.append(Program("steps", Signature(step, one), f"result = {text}", ordered))

    for step, kind, shown in window_steps():
        named = [f"{one} AS v{i}" for i, one in enumerate(shown)]
        add(step, kind, f"rows.selectExpr('id', *{named!r})")
    for kind in (*TYPES, *NESTED, *MOVED):
        one, two = (column_of(type_of(kind), number).name for number in (1, 2))
        if not kind.startswith("map") and kind not in MOVED:
            add("group by", kind, f"rows.groupBy('{one}').count()")
            add("distinct", kind, f"rows.select('{one}').distinct()")
            for how in ("inner", "left", "right", "full", "left_semi", "left_anti"):
                left = f"rows.selectExpr('id', '{one} AS k')"
                right = f"rows.selectExpr('id AS other', '{two} AS k')"
                add(f"join {how.replace('left_', '')}", kind, f"{left}.join({right}, 'k', '{how}')")
            right = f"rows.selectExpr('id AS other', '{two} AS j')"
            equal = "(k = j) OR (k = j) IS NULL"
            add(
                "join null-aware anti",
                kind,
                f"{left}.join({right}, F.expr('{equal}'), 'left_anti')",
            )
            marked = "SELECT *, EXISTS(SELECT 1 FROM {r} WHERE k = j) AS mark FROM {l}"
            add("join existence", kind, f"spark.sql('{marked}', l={left}, r={right})")
        for direction in ("asc", "desc"):
            for nulls in ("first", "last"):
                if not kind.startswith("map") and kind not in MOVED:
                    key = sql_of(comparable(column_of(type_of(kind), 1)))
                    order = f"F.expr({key!r}).{direction}_nulls_{nulls}(), F.col('id')"
                    text = f"rows.select('{one}', 'id').orderBy({order})"
                    add(f"sort {direction} nulls {nulls}", kind, text, ordered=True)
        if kind in TYPES:
            for text in (f"stack(2, {one}, {two})", f"stack(2, 'a', {one}, 'b', {two})"):
                add("stack", kind, f"rows.selectExpr('id', {text!r})")
        add("union", kind, f"rows.selectExpr('{one} AS k').unionAll(rows.selectExpr('{two} AS k'))")
        if kind.startswith(("array", "map")):
            for name in ("explode", "explode_outer", "posexplode", "posexplode_outer"):
                add(name, kind, f"rows.selectExpr('id', '{name}({one})')")
        if kind.startswith("array<struct"):
            add("inline", kind, f"rows.selectExpr('id', 'inline({one})')")
            add("inline_outer", kind, f"rows.selectExpr('id', 'inline_outer({one})')")
    return found


_CONDITIONS = ("n < m", "s = t OR n = m", "v >= w AND s <> t", "n IS NULL", "true")


def keyless_programs() -> list[Program]:
    """Joins that compare no keys: each row with every other one."""
    found = []
    sides = [
        "rows.filter('id < 40').selectExpr("
        + ", ".join(
            f"'{column_of(type_of(kind), number).name} AS {name}'"
            for kind, name in zip(("int", "double", "string"), names, strict=True)
        )
        + ")"
        for number, names in ((1, "nvs"), (2, "mwt"))
    ]
    left, right = sides

    def add(how: str, text: str) -> None:
        signature = Signature(f"join {how} without keys", "boolean")
        found.append(Program("steps", signature, f"result = {text}"))

    for condition in _CONDITIONS:
        for how in ("inner", "left", "right", "full", "left_semi", "left_anti"):
            joined = f"{left}.join({right}, F.expr({condition!r}), '{how}')"
            add(how.replace("left_", ""), joined)
        marked = f"SELECT *, EXISTS(SELECT 1 FROM {{r}} WHERE {condition}) AS mark FROM {{l}}"
        add("existence", f"spark.sql({marked!r}, l={left}, r={right})")
    add("inner", f"{left}.crossJoin({right})")
    return found


def all_programs() -> list[Program]:
    """All of them; those of one signature stand together."""
    readers = [Program("readers", signature, text) for signature, text in reader_programs()]
    found = [*guard_programs(), *readers, *step_programs(), *keyless_programs()]
    return sorted(found, key=lambda program: (program.section, program.signature))
