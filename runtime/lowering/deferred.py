"""Columns that are picked and computed step after step, and go to Spark as one step.

Spark analyses every DataFrame when it is made, and what lowering does to a batch's columns (its
own names, buffers, hashes, the query's names) are many small steps: to analyse them one by one
takes as long as to run a small batch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"\w+|`(?:[^`]|``)+`")


def deferred(frame: DataFrame) -> DataFrame:
    """The DataFrame, whose next `selectExpr` waits until something else is asked of it."""
    return frame if isinstance(frame, Deferred) else cast("DataFrame", Deferred(frame))


def settled(frame: DataFrame) -> DataFrame:
    """The DataFrame itself, for whom it is to be nothing else."""
    return frame.made if isinstance(frame, Deferred) else frame


class Deferred:
    """Stands for a DataFrame: of columns made from another one, or of whatever else is asked for.

    Args:
        base: the other one.
        texts: the columns in SQL; None: all of them as they are.
    """

    def __init__(self, base: DataFrame, texts: Sequence[str] | None = None) -> None:
        self._base = base
        self._texts = texts
        self._made = base if texts is None else None

    @property
    def made(self) -> DataFrame:
        """The DataFrame."""
        if self._made is None:
            assert self._texts is not None
            self._made = self._base.selectExpr(*self._texts)
        return self._made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name)

    def selectExpr(self, *texts: str) -> Any:
        """The columns that some SQL makes of these."""
        together = texts if self._texts is None else composed(self._texts, texts)
        if together is None:
            return Deferred(self.made, texts)
        return Deferred(self._base, together)


def composed(below: Sequence[str], above: Sequence[str]) -> list[str] | None:
    """The columns of `above` over those of `below` as columns of what lies below both.

    None if they take two steps: a column that is computed below is computed with above, or picked
    twice (it may give another value each time).
    """
    made: dict[str, str] = {}
    for text in below:
        sql, name = _parts(text)
        if not name:
            return None
        made[name] = sql
    found: list[str] = []
    picked: Counter[str] = Counter()
    for text in above:
        sql, name = _parts(text)
        if not name or any(made.get(word, word) != word for word in _WORD.findall(sql)):
            if not name or sql not in made:
                return None
            picked[sql] += 1
            sql = made[sql]
        found.append(sql if sql == name else f"{sql} AS {name}")
    return None if max(picked.values(), default=0) > 1 else found


def _parts(text: str) -> tuple[str, str]:
    """The SQL of a column and its name; the name is empty if it is not plain to see."""
    sql, _, name = text.rpartition(" AS ")
    return (sql or name, name) if _NAME.fullmatch(name) else (text, "")
