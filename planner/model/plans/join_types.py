"""The types of joins: Spark's names, the words that users write for them, the columns they give."""

from __future__ import annotations

from typing import Literal

from ..expressions.core import AttributeReference

JoinType = Literal[
    "Inner",
    "LeftOuter",
    "RightOuter",
    "FullOuter",
    "LeftSemi",
    "LeftAnti",
    "Cross",
    "LeftSingle",  # this and the next come of subqueries only
    "ExistenceJoin",
]
INNER_JOINS = ("Inner", "Cross")
OUTER_JOINS = ("LeftOuter", "RightOuter", "FullOuter")
JOIN_TYPES: dict[str, JoinType] = {
    "inner": "Inner",
    "cross": "Cross",
    "left": "LeftOuter",
    "left_outer": "LeftOuter",
    "right": "RightOuter",
    "right_outer": "RightOuter",
    "full": "FullOuter",
    "outer": "FullOuter",
    "full_outer": "FullOuter",
    "semi": "LeftSemi",
    "left_semi": "LeftSemi",
    "anti": "LeftAnti",
    "left_anti": "LeftAnti",
}
"""By what users write: in SQL, in PySpark and with the builder."""


def join_type_of(words: str) -> JoinType | None:
    """The type that these words name, in any case and with or without `_` between them."""
    return _BY_LETTERS.get(words.lower().replace("_", ""))


_BY_LETTERS = {words.replace("_", ""): kind for words, kind in JOIN_TYPES.items()}


def join_output(
    kind: JoinType,
    left: tuple[AttributeReference, ...],
    right: tuple[AttributeReference, ...],
    mark: AttributeReference | None = None,
) -> tuple[AttributeReference, ...]:
    """The columns of a join: a side that is padded with nulls becomes nullable.

    An existence join has one more column, which says whether there is a match.
    """
    if mark is not None:
        return (*left, mark)
    if kind in ("LeftSemi", "LeftAnti"):
        return left
    if kind in ("RightOuter", "FullOuter"):
        left = tuple(a.with_nullability(True) for a in left)
    if kind in ("LeftOuter", "LeftSingle", "FullOuter"):
        right = tuple(a.with_nullability(True) for a in right)
    return left + right
