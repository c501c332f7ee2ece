"""What must hold, beyond their types, of the arguments of operations of texts and bytes.

The module imports neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from . import patterns
from .operation_facts import Arguments

URL_PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO")
"""What `parse_url` gives of a URL."""


def same_texts(given: Arguments) -> bool:
    """Whether all arguments but the first have one type."""
    return len(set(given.kinds[1:])) == 1


def are_joined(given: Arguments) -> bool:
    """Whether all arguments but the first are strings or lists of strings."""
    return all(
        kind[0] == "array" and kind[2] == ("string",)
        if isinstance(kind, tuple)
        else kind == "string"
        for kind in given.kinds[1:]
    )


def like_pattern(given: Arguments) -> bool:
    """Whether a LIKE pattern is well formed: where it is not, Spark fails."""
    pattern, escape = given.values[1], str(given.options[0]) if given.options else "\\"
    if not isinstance(pattern, str):
        return False
    rest = iter(pattern)
    return all(character != escape or next(rest, "") in ("%", "_", escape) for character in rest)


def known_pattern(given: Arguments) -> bool:
    """Whether a pattern is in the grammar of `patterns`."""
    return patterns.is_known(given.values[1])


def known_group(given: Arguments) -> bool:
    """Whether a pattern is in that grammar, and has the group."""
    pattern, group = given.values[1:]
    return isinstance(group, int) and patterns.is_known(pattern, (group,))


def known_group_never_empty(given: Arguments) -> bool:
    """Whether all matches are extracted: behind an empty one libraries go on at other places."""
    pattern, group = given.values[1:]
    return isinstance(group, int) and patterns.is_known(pattern, (group,), never_empty=True)


def known_replacement(given: Arguments) -> bool:
    """Whether matches of a pattern are replaced, from the first letter on."""
    return given.values[3] == 1 and patterns.is_replacement(given.values[1], given.values[2])


def known_separator(given: Arguments) -> bool:
    """Whether a text is divided by a pattern, without a limit."""
    unlimited = isinstance(given.values[2], int) and given.values[2] <= 0
    return unlimited and (given.values[1] == "" or patterns.is_splitting(given.values[1]))


def from_start(given: Arguments) -> bool:
    """Whether a text is searched from its first letter on."""
    return given.values[2] == 1


def near_places(given: Arguments) -> bool:
    """Whether a place in a text and a length are far from where 32 bits end."""
    return all(isinstance(value, int) and abs(value) < 1 << 29 for value in given.values[2:])


def plain_separators(given: Arguments) -> bool:
    """Whether a text is divided by two signs that mean nothing else in regular expressions."""
    return all(
        isinstance(sign, str) and len(sign) == 1 and sign not in "\\.[]{}()*+-?^$|"
        for sign in given.values[1:]
    )


def apart(given: Arguments) -> bool:
    """Whether two occurrences of a mark cannot overlap: a search from either end finds the same."""
    mark = given.values[1]
    return isinstance(mark, str) and all(
        not mark.endswith(mark[:size]) for size in range(1, len(mark))
    )


def url_part(given: Arguments) -> bool:
    """Whether a URL has such a part, and a key of its query is plain."""
    part, key = given.values[1], given.values[2] if len(given.values) > 2 else "plain"
    if len(given.values) > 2 and part != "QUERY":
        return False
    return part in URL_PARTS and isinstance(key, str) and key.replace("_", "a").isalnum()


def utf8(given: Arguments) -> bool:
    """Whether a character set is UTF-8."""
    return isinstance(given.values[1], str) and given.values[1].upper() == "UTF-8"
