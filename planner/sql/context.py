"""Where in the query's text something stands, and how Spark's messages show it."""

from __future__ import annotations

from ..model.errors import AnalysisError
from ..model.expressions import Origin

_MARGIN = 32


def origin_at(text: str, start: int, stop: int) -> Origin:
    """The origin of what stands from `start` to `stop` (inclusive). Positions count from 0."""
    line = text.count("\n", 0, start) + 1
    position = start - (text.rfind("\n", 0, start) + 1)
    return Origin(line=line, position=position, start=start, stop=stop, source=text)


def fragment_context(origin: Origin) -> str:
    """The block `== SQL (line 1, position 8) ==` with the fragment underlined.

    The first line is shown from at most 32 characters before the fragment, the last one to 32
    behind it.
    """
    text, start, stop = origin.source, origin.start, min(origin.stop, len(origin.source) - 1)
    first = text.rfind("\n", 0, start) + 1
    cut_before = start - first >= _MARGIN + 1
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


def fragment_error(condition: str, message: str, origin: Origin, hint: str = "") -> AnalysisError:
    """An error whose message ends with the fragment of the query that it is about."""
    return AnalysisError(condition, f"{message}\n{fragment_context(origin)}", hint=hint)


def unsupported(what: str, origin: Origin | None = None) -> AnalysisError:
    """Spark's SQL has it, stateplan does not."""
    place = f" (line {origin.line}, pos {origin.position})" if origin is not None else ""
    return AnalysisError(
        "STATEPLAN_UNSUPPORTED_SQL",
        f"{what} is not supported by stateplan{place}.",
        hint="Write the query without it.",
    )


def missing_window(name: str, origin: Origin) -> AnalysisError:
    """A named window that the query does not define."""
    return fragment_error(
        "MISSING_WINDOW_SPECIFICATION",
        "[MISSING_WINDOW_SPECIFICATION] Window specification is not defined in the WINDOW clause "
        f"for `{name}`. For more information about WINDOW clauses, please refer to "
        "'https://spark.apache.org/docs/latest/sql-ref-syntax-qry-select-window.html'. "
        "SQLSTATE: 42P20",
        origin,
        hint="Define it with WINDOW name AS (...), or write the window behind OVER.",
    )
