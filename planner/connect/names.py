"""Column names as DataFrame code writes them: `a.b`, with back quotes around odd parts."""

from __future__ import annotations

import re

from ..model.errors import AnalysisError

_PLAIN = re.compile(r"(?:\?[^?`]+\?|[^.])*")


def name_parts(text: str) -> tuple[str, ...]:
    """The parts of a name: dots split it, but not inside back quotes, where `` is a back quote.

    Raises:
        AnalysisError: the quotes do not match, or stand inside a part.
    """
    parts: list[str] = []
    position = 0
    while True:
        if text[position : position + 1] == "`":
            part, position = _quoted(text, position)
        else:
            end = _plain_end(text, position)
            part, position = text[position:end], end
            if "`" in part:
                raise _invalid(text)
        parts.append(part)
        if position == len(text):
            break
        if text[position] != ".":
            raise _invalid(text)
        position += 1
        if position == len(text):
            raise _invalid(text)
    if len(parts) > 1 and not all(parts):
        raise _invalid(text)
    return tuple(parts)


def _plain_end(text: str, position: int) -> int:
    """Where a part without quotes ends; a dot in a placeholder, `?settings.TABLE?`, ends none."""
    found = _PLAIN.match(text, position)
    return found.end() if found else position


def _quoted(text: str, start: int) -> tuple[str, int]:
    """The part in back quotes from `start`, and where it ends."""
    found = []
    position = start + 1
    while True:
        end = text.find("`", position)
        if end < 0:
            raise _invalid(text)
        found.append(text[position:end])
        if text[end + 1 : end + 2] != "`":
            return "".join(found), end + 1
        found.append("`")
        position = end + 2


def _invalid(text: str) -> AnalysisError:
    return AnalysisError.of("INVALID_ATTRIBUTE_NAME_SYNTAX", name=text)
