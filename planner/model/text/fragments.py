"""Fragments of the query's text, as Spark's messages show them."""

from __future__ import annotations

from ..expressions.core import Origin

_MARGIN = 32


def fragment_context(origin: Origin) -> str:
    """The block `== SQL (line 1, position 8) ==` with the fragment underlined.

    The first line is shown from at most 32 characters before the fragment, the last one to 32
    behind it. Of code it is `== DataFrame ==` with the function that was called and the line.
    """
    if origin.file:
        return f"== DataFrame ==\n{origin.context}" if origin.context else ""
    text, start, stop = origin.source, origin.start, min(origin.stop, len(origin.source) - 1)
    first = text.rfind("\n", 0, start) + 1
    cut_before = start - first >= _MARGIN
    first = start - _MARGIN if cut_before else first
    last = text.find("\n", stop)
    last = len(text) if last < 0 else last
    cut_behind = last - stop > _MARGIN
    last = stop + _MARGIN + 1 if cut_behind else last
    shown = ("..." if cut_before else "") + text[first:last] + ("..." if cut_behind else "")
    lines = [f"== SQL (line {origin.line}, position {origin.position + 1}) =="]
    place = first - (3 if cut_before else 0)
    for line in shown.split("\n"):
        marks = ("^" if start <= place + i <= stop else " " for i in range(len(line)))
        lines += [line, "".join(marks).rstrip()]
        place += len(line) + 1
    return "\n".join(lines)
