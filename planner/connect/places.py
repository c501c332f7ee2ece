"""The lines of the user's code, as the client sends them."""

from __future__ import annotations

import linecache
import os
import re
from typing import Any

from pyspark.sql.connect import proto

from ..model.errors import StateplanError
from ..model.expressions.core import Origin
from ..model.tree import replace

_OWN = os.path.dirname(os.path.abspath(__file__))  # this package calls PySpark, too
Message = Any  # protobuf messages: their fields are checked by the client that made them
_CODE = "python"  # how messages call an expression of a description
_SITE = re.compile(r"(?P<file>.*):(?P<line>\d+)")


def origin_of(message: Message) -> Origin | None:
    """Where a relation or an expression was written; None where the client did not send it.

    The call site is `path:line`, the innermost line of the user's own code first; the fragment is
    the function that was called there, or all that messages say of it (see `call_sites`).
    """
    if not (message.HasField("common") and message.common.HasField("origin")):
        return None
    sent = message.common.origin.python_origin
    origin = origin_at(sent.call_site)
    if origin is None or not sent.fragment:
        return origin
    context = sent.fragment
    if "\n" not in context:
        context = f'"{context}" was called from\n{sent.call_site}'
    return replace(origin, context=context)


def origin_at(call_site: str) -> Origin | None:
    """The origin for a call site such as `/home/me/job.py:12`; None for one of another form."""
    found = _SITE.fullmatch(call_site.split("\n")[0])
    if found is None:
        return None
    path, line = found["file"], int(found["line"])
    text = linecache.getline(path, line).strip()
    file = _CODE if path == "<string>" else os.path.basename(path)
    return Origin(line=line, position=0, stop=max(len(text) - 1, 0), source=text, file=file)


def where(origin: Origin | None) -> str:
    """` (job.py:12)` for an error's message, or nothing."""
    return "" if origin is None else f" ({origin.file}:{origin.line})"


def where_from(origin: Origin | None) -> str:
    """`job.py:12: ` before a text, or nothing."""
    return "" if origin is None else f"{origin.file}:{origin.line}: "


def remember_source(name: str, text: str) -> None:
    """Make the lines of code that is no file known under a name."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


def caller_of(request: Message) -> tuple[Origin | None, str]:
    """The line that made a request and the method it called, where the client sent its stack.

    The client does so with SPARK_CONNECT_DEBUG_CLIENT_CALL_STACK=true, outermost frame first.
    """
    stack = proto.FetchErrorDetailsResponse.Error()
    for extension in request.user_context.extensions:
        if not (extension.Is(stack.DESCRIPTOR) and extension.Unpack(stack)):
            continue
        frames = [f for f in stack.stack_trace if not f.file_name.startswith((_OWN, "<frozen"))]
        if frames:
            last = frames[-1]
            origin = origin_at(f"{last.file_name}:{last.line_number}")
            return (None, "") if origin is None else (origin, last.method_name)
    return None, ""


def placed(error: StateplanError, origin: Origin | None) -> StateplanError:
    """The error with the line of code that it comes from, the innermost that is known."""
    if origin is not None and error.place is None:
        error.place = f"{origin.file}:{origin.line}"
    return error
