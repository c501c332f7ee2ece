"""Nodes that Spark's SQL has and sqlglot's tree has not."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class Watermark(exp.Expression):  # type: ignore[misc]
    """`relation WATERMARK column DELAY OF INTERVAL ...`; the column may be `expression AS name`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "column": True, "delay": True}


class TypedLiteral(exp.Expression, exp.Condition):  # type: ignore[misc]
    """`DATE '2026-01-31'`: a type's name and a string."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


class IntervalLiteral(exp.Expression, exp.Condition):  # type: ignore[misc]
    """`INTERVAL 1 DAY 2 HOURS` or `INTERVAL '1 02' DAY TO HOUR`.

    `values` are exp.Literal (a leading minus belongs to its text), `units` upper-case words; with
    `to` there is one value and one unit, the first of the range.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "values": True,
        "units": True,
        "to": False,
        "text": True,
    }


class MultiAlias(exp.Expression):  # type: ignore[misc]
    """`explode(m) AS (k, v)`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "names": True}


class LateralRelation(exp.Expression):  # type: ignore[misc]
    """`LATERAL (query) AS t` or `LATERAL explode(a) AS t` behind a comma or JOIN."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Sampled(exp.Expression):  # type: ignore[misc]
    """`relation TABLESAMPLE (10 PERCENT)`: `kind` is PERCENT, ROWS or BUCKET.

    What Spark refuses: EMPTY, BYTES, and for BUCKET .. ON .. `ON colname` and `ON function`.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "sizes": True,
        "seed": False,
    }


class Pivoted(exp.Expression):  # type: ignore[misc]
    """`relation PIVOT (aggregates FOR column IN (value AS name))`; the columns' names."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "aggregates": True,
        "columns": True,
        "values": True,
    }


class Unpivoted(exp.Expression):  # type: ignore[misc]
    """`relation UNPIVOT (value FOR name IN (a, b AS c))`; each column with its alias or None."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "values": True,
        "name": True,
        "columns": True,
        "nulls": False,
        "alias": False,
    }


class TableFunction(exp.Expression):  # type: ignore[misc]
    """`range(10) AS t(id)` in FROM."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "alias": False}
