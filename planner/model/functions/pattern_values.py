"""What patterns say of constant texts: LIKE, and regular expressions that Java and Python share.

A ValueError leaves the call as it is written.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..expressions.core import Call

# Java's own: groups with `?`, classes of Unicode, quotes, classes within classes, \R and the like.
_JAVA = re.compile(r"\(\?|\\[^dDwWsStnr.\\\-\[\](){}*+?^$|/]|&&|\[[^\]]*\[|\{,|[*+?}]\+")
_GROUP = re.compile(r"\$(\d)(?!\d)")
_ESCAPE = re.compile(r"\\(?!g<)")


def like(call: Call, text: str, pattern: str) -> bool:
    """`text LIKE pattern`; the escape character is the call's option.

    Raises:
        ValueError: the escape character stands before what needs none, which Spark refuses.
    """
    escape = str(call.options[0]) if call.options else "\\"
    parts: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            following = next(letters, "")
            if following not in ("_", "%", escape):
                raise ValueError(pattern)
            parts.append(re.escape(following))
        else:
            parts.append({"_": ".", "%": ".*"}.get(letter) or re.escape(letter))
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    if _JAVA.search(pattern):
        raise ValueError(pattern)
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise ValueError(pattern) from error


def _expression(pattern: str, text: str) -> re.Pattern[str]:
    if not (text.isprintable() and text.isascii()):
        raise ValueError(text)  # line ends and letters beyond ASCII are read differently
    return _compiled(pattern)


def found(call: Call, text: str, pattern: str) -> bool:
    """`text RLIKE pattern`."""
    return _expression(pattern, text).search(text) is not None


def with_matches_replaced(call: Call, text: str, pattern: str, by: str, position: int) -> str:
    """`regexp_replace(text, pattern, by)` from the text's start."""
    by = _GROUP.sub(r"\\g<\1>", by)
    if position != 1 or "$" in by or _ESCAPE.search(by):
        raise ValueError(by)
    expression = _expression(pattern, text)
    if expression.search("") is not None:
        raise ValueError(pattern)
    return expression.sub(by, text)


def extracted(call: Call, text: str, pattern: str, group: int) -> str:
    """`regexp_extract(text, pattern, group)`."""
    expression = _expression(pattern, text)
    if not 0 <= group <= expression.groups:
        raise ValueError(group)
    match = expression.search(text)
    return "" if match is None else match[group] or ""


def all_extracted(call: Call, text: str, pattern: str, group: int) -> tuple[str, ...]:
    """`regexp_extract_all(text, pattern, group)`."""
    expression = _expression(pattern, text)
    if not 0 <= group <= expression.groups or expression.search("") is not None:
        raise ValueError(group)
    return tuple(match[group] or "" for match in expression.finditer(text))
