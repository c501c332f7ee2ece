"""Code of a file that nothing in it calls: a library's functions, and those of foreachBatch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.connect.dataframe import DataFrame

from .context import session


def planned_call(code: str, names: dict[str, Any]) -> None:
    """Call a function of the file; a stream that it gives is planned, one it starts is anyway.

    Args:
        code: the call.
        names: the file's.
    """
    found = eval(compile(code, "--call", "eval"), names)
    for frame in found if isinstance(found, list | tuple) else [found]:
        if not isinstance(frame, DataFrame):
            continue
        if frame.isStreaming:
            name = code.partition("(")[0].strip()
            frame.writeStream.format("noop").queryName(name).start()
        else:
            frame.explain()


def planned_batches(functions: Mapping[bytes, Callable[..., Any]]) -> None:
    """Call what was given to foreachBatch with an empty batch of the stream's columns."""
    for name, function in functions.items():
        batch = session().read.format("stateplan.batch").load(name.decode())
        function(batch, 0)
