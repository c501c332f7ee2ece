"""Brackets that are not closed where a text stops being a query: what Spark's parser says there.

A text is given as its words and signs, in upper case.
"""

from __future__ import annotations

_CLAUSES = frozenset(("FROM", "GROUP", "WHERE", "HAVING", "ORDER", "LIMIT"))
_QUERIES = frozenset(("SELECT", "WITH", "FROM", "VALUES"))
_DIRECTIONS = frozenset(("ASC", "DESC", "FIRST", "LAST"))
_ITEMS = frozenset((",", "SELECT", "(", "WHERE", "AND", "OR", "NOT", "ON", "HAVING", "BY", "="))


def opening(words: list[str], index: int) -> int | None:
    """Where the nearest bracket before the token stands that is still open."""
    depth = 0
    for place in range(index - 1, -1, -1):
        depth += (words[place] in (")", "]")) - (words[place] in ("(", "["))
        if depth < 0:
            return place
    return None


def unclosed(words: list[str], index: int) -> int | None:
    """The token that Spark blames instead of the misfit, for a bracket before it that is open.

    `EXISTS (SELECT ..` without its end: EXISTS might be a column, so the bracket behind it is the
    fault. `(a > 1 GROUP BY ..`: within the bracket GROUP might be a name, but Spark blames it.
    """
    place = opening(words, index)
    outer = place
    while outer is not None and outer > 0:
        if _word(words, outer - 1) == "EXISTS":
            return outer
        outer = opening(words, outer)
    if place is None or index < 1 or _word(words, index - 1) not in _CLAUSES:
        return None
    query = _word(words, place + 1) in _QUERIES
    expression = place > 0 and _word(words, place - 1) in _ITEMS and not query
    return index - 1 if expression and index - 1 > place + 1 else None


def is_undecided(words: list[str], index: int) -> bool:
    """Whether Spark's parser did not know yet what it was reading: it then proposes no bracket.

    At the end, within a GROUP BY, behind the first words of ORDER BY, in a select list, behind a
    stream without a name of its own; behind the type of a cast; before AS in a call.
    """
    place = opening(words, index)
    if place is None:
        return False
    if index < len(words):
        before = _word(words, place - 1) if place else ""
        if before in ("CAST", "TRY_CAST") and _word(words, index - 2) == "AS":
            return True
        inside = words[place + 1 : index]
        if inside[:2] == ["*", ","]:
            return True
        return _word(words, index) == "AS" and "," not in inside and before not in _ITEMS
    return _ends_undecided(words)


def _ends_undecided(words: list[str]) -> bool:
    if _word(words, -2) == "STREAM" or words[-3:-1] == ["STREAM", "("]:
        return True
    if words[-1] == ")" and _word(words, -4) == "STREAM":
        return True
    depth = 0
    for place in range(len(words) - 1, 0, -1):
        depth += (words[place] in (")", "]")) - (words[place] in ("(", "["))
        word = _word(words, place)
        if depth > 0:
            continue
        if word == "BY":
            return _word(words, place - 1) == "GROUP" or _word(words, -1) not in _DIRECTIONS
        if word == "SELECT":
            return depth == 0
        if word in ("FROM", "WHERE", "HAVING", "LIMIT", "ON"):
            return False
    return False


def _word(words: list[str], place: int) -> str:
    return words[place] if -len(words) <= place < len(words) else ""
