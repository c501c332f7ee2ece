"""The text of SQL files: whether they are a pipeline's, and their statements.

No planner is needed for it: the process of a script, which has none, starts sooner.
"""

from __future__ import annotations

import re

_STATEMENT = re.compile(
    r"(?P<end>;|(?m:^)-- COMMAND -+)|(?P<skipped>\s+|--[^\n]*|/\*.*?(?:\*/|$))"
    r"|(?P<text>'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|`[^`]*`?|.)",
    re.DOTALL,
)
_DEFINES = re.compile(
    r"^\s*CREATE\s+(?:OR\s+\w+\s+)?(?:PRIVATE\s+|TEMPORARY\s+)?"
    r"(?:STREAMING\s+(?:LIVE\s+)?TABLE|MATERIALIZED\s+VIEW|LIVE\s+(?:TABLE|VIEW)|FLOW)\b",
    re.IGNORECASE | re.MULTILINE,
)
_DATABRICKS = re.compile(
    r"\bCREATE\s+OR\s+REFRESH\b|\bLIVE\s+(?:TABLE|VIEW)\b|\bLIVE\.\w|\bAPPLY\s+CHANGES\s+INTO\b"
    r"|\bEXPECT\s*\(|\bIGNORE\s+NULL\s+UPDATES\b|\bPRIVATE\s+(?:STREAMING|MATERIALIZED)\b",
    re.IGNORECASE,
)


def defines_datasets(text: str) -> bool:
    """Whether an SQL file is a pipeline's, and no single query."""
    return _DEFINES.search(text) is not None


def is_databricks(text: str) -> bool:
    """Whether an SQL file has words that Spark's parser does not know and Databricks' does."""
    return _DATABRICKS.search(text) is not None


def split(text: str) -> list[tuple[int, str]]:
    """The statements of a file and the lines that they start in; none that is empty."""
    found: list[tuple[int, str]] = []
    begin = 0
    first: int | None = None

    def end(stop: int) -> None:
        nonlocal first
        if first is not None:
            found.append((text.count("\n", 0, first) + 1, text[begin:stop]))
        first = None

    for match in _STATEMENT.finditer(text):
        if match["end"]:
            end(match.start())
            begin = match.end()
        elif match["text"] and first is None:
            first = match.start()
    end(len(text))
    return found
