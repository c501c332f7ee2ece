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


# Words before a bracket that call nothing.
_KEYWORDS = frozenset(
    ("ALL", "ANY", "AS", "BETWEEN", "BY", "CASE", "CUBE", "DISTINCT", "ELSE", "EXISTS", "FILTER",
     "ILIKE", "IN", "IS", "JOIN", "LIKE", "ON", "OVER", "PARTITION", "PIVOT", "RLIKE", "ROLLUP",
     "SELECT", "SETS", "SOME", "TABLESAMPLE", "THEN", "UNION", "UNPIVOT", "USING", "VALUES", "WHEN",
     "WITH", *_ITEMS, *_CLAUSES)
)  # fmt: skip


def called_like_column(words: list[str], index: int) -> int | None:
    """The bracket of a call that Spark blames for a misfit in it.

    `WHERE csat(user AS INT)`: so far the bracket held nothing but names, as one with the names of
    columns behind an alias does. With AS no reading is left, and Spark goes on with the first: a
    column `csat`, behind which no bracket can be. An entry of a select list can have one there.
    """
    place = opening(words, index)
    if place is None or place < 1 or words[place] != "(":
        return None
    dotted = place > 1 and words[place - 2] == "."
    name = words[place - 1]
    if not (name[:1].isalpha() or name[:1] in "_`") or (name in _KEYWORDS and not dotted):
        return None
    inside = words[place + 1 : index]
    if not all((w == ",") == bool(i % 2) and _is_name_or_comma(w) for i, w in enumerate(inside)):
        return None
    outer = opening(words, place)
    if outer is None or _word(words, outer + 1) in _QUERIES:
        # GROUP BY looks ahead as far as that; an entry of a select list may have such a bracket.
        return None if clause(words, place) in ("SELECT", "BY") else place
    grouping = outer == 0 or _word(words, outer - 1) in _ITEMS
    return None if grouping else place


def _is_name_or_comma(word: str) -> bool:
    return word == "," or word[:1].isalpha() or word[:1] in "_`"


def clause(words: list[str], index: int) -> str:
    """The word of the clause that a token stands in, within its bracket; empty if there is none."""
    depth = 0
    for place in range(index - 1, -1, -1):
        depth += (words[place] in (")", "]")) - (words[place] in ("(", "["))
        if depth == 0 and (words[place] in _CLAUSES or words[place] in ("SELECT", "ON", "BY")):
            return words[place]
        if depth < 0:
            break
    return ""


_LAST_CLAUSES = frozenset(("ORDER", "LIMIT", "OFFSET"))


def last_clause(words: list[str], index: int) -> tuple[int | None, int] | None:
    """The last ORDER BY, LIMIT or OFFSET of the token's query, with the query's bracket, if any."""
    outer = opening(words, index)
    while outer is not None and _word(words, outer + 1) not in _QUERIES:
        outer = opening(words, outer)
    depth = 0
    found = None
    for place in range(0 if outer is None else outer + 1, index):
        depth += (words[place] in ("(", "[")) - (words[place] in (")", "]"))
        if depth == 0 and words[place] in _LAST_CLAUSES:
            found = place
    return None if found is None else (outer, found)
