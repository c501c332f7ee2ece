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
SEMI_JOINS = ("LeftSemi", "LeftAnti")  # they give the left side's columns alone
# The sides that get rows of nulls where the other's rows find no match.
PADS_LEFT = ("RightOuter", "FullOuter")
PADS_RIGHT = ("LeftOuter", "LeftSingle", "FullOuter")
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
SHORT_WORDS = {kind: words for words, kind in reversed(JOIN_TYPES.items())}
"""The shortest of a type's words."""


def join_type_of(words: str) -> JoinType | None:
    """The type that these words name, in any case and with or without `_` between them."""
    return _WITHOUT_UNDERSCORES.get(words.lower().replace("_", ""))


_WITHOUT_UNDERSCORES = {words.replace("_", ""): kind for words, kind in JOIN_TYPES.items()}


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
    if kind in SEMI_JOINS:
        return left
    if kind in PADS_LEFT:
        left = tuple(a.with_nullability(True) for a in left)
    if kind in PADS_RIGHT:
        right = tuple(a.with_nullability(True) for a in right)
    return left + right
