"""The statements of an SQL cell."""

from __future__ import annotations

from collections.abc import Iterator


def statements(text: str) -> Iterator[str]:
    """Statements that semicolons end, outside texts and comments; none that is empty."""
    start = place = 0
    while place < len(text):
        letter, two = text[place], text[place : place + 2]
        if two == "--":
            place = _end(text, "\n", place)
        elif two == "/*":
            place = _end(text, "*/", place + 2)
        elif letter in "'\"`":
            place = _end(text, letter, place + 1)
        elif letter == ";":
            yield from _stripped(text[start:place])
            start = place = place + 1
        else:
            place += 1
    yield from _stripped(text[start:])


def _end(text: str, mark: str, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)


def _stripped(text: str) -> Iterator[str]:
    lines = [line for line in text.split("\n") if line.strip()]
    if any(not line.lstrip().startswith("--") for line in lines):
        yield "\n".join(lines)
