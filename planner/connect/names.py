"""Column names as DataFrame code writes them: `a.b`, with back quotes around odd parts."""

from __future__ import annotations

import re

from ..model.errors import AnalysisError

# In quotes, or plain; a dot in a placeholder, `?settings.TABLE?`, ends no plain part.
_PART = re.compile(r"`(?P<quoted>(?:[^`]|``)*)`|(?P<plain>(?:\?[^?`]+\?|[^.`])*)")


def name_parts(text: str) -> tuple[str, ...]:
    """The parts of a name: dots split it, but not inside back quotes, where `` is a back quote.

    Raises:
        AnalysisError: the quotes do not match, or stand inside a part.
    """
    parts: list[str] = []
    position = 0
    while found := _PART.match(text, position):
        quoted = found["quoted"]
        parts.append(found["plain"] if quoted is None else quoted.replace("``", "`"))
        position = found.end()
        if position == len(text):
            break
        if text[position] != "." or position + 1 == len(text):
            raise _invalid(text)
        position += 1
    if len(parts) > 1 and not all(parts):
        raise _invalid(text)
    return tuple(parts)


def _invalid(text: str) -> AnalysisError:
    return AnalysisError.of("INVALID_ATTRIBUTE_NAME_SYNTAX", name=text)
