"""Code of a file that nothing in it calls: a library's functions, and those of foreachBatch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

from ..protocol import SHOW_WRITES
from .context import frame, session
from .rules import Rules
from .stand_ins import StandIn

Batch = tuple[Any, Callable[..., Any]]


def planned_call(code: str, names: dict[str, Any]) -> None:
    """Call a function of the file; a stream that it gives is planned, one it starts is anyway.

    Args:
        code: the call, or a function or method alone: what it needs is then handed in, a stream
            with an open schema for a DataFrame, a stand-in for anything else.
        names: the file's.
    """
    name = code.partition("(")[0].strip()
    if "(" in code:
        found = eval(compile(code, "<--call>", "eval"), names)
    else:
        first, _, method = name.partition(".")
        owner = names[first]
        bare = isinstance(owner, type) and method
        if bare and not isinstance(inspect.getattr_static(owner, method), staticmethod):
            owner = _called(owner)
        found = _called(getattr(owner, method) if method else owner)
    for one in found if isinstance(found, list | tuple) else [found]:
        if isinstance(one, DataStreamWriter):
            one.queryName(name).start()
        if not isinstance(one, DataFrame):
            continue
        if one.isStreaming:
            one.writeStream.format("noop").queryName(name).start()
        else:
            one.explain()


def _called(function: Callable[..., Any]) -> Any:
    """Call a function with what it needs and has no default for."""
    needed = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    return function(**{one.name: _argument(one) for one in needed})


def _argument(parameter: inspect.Parameter) -> Any:
    kind = str(getattr(parameter.annotation, "__name__", parameter.annotation)).rpartition(".")[2]
    name = parameter.name.lower()
    if kind == "DataFrame" or (kind == "_empty" and name.endswith(("df", "frame", "stream"))):
        return frame(parameter.name, True)
    if kind == "SparkSession" or name in ("spark", "spark_session"):
        return session()
    Rules.handed_in[parameter.name] = ""
    return StandIn(parameter.name)


def planned_batches(batches: Sequence[Batch]) -> None:
    """Call what was given to foreachBatch with a batch of the stream's columns.

    Args:
        batches: each stream's schema and function.
    """
    session().conf.set(SHOW_WRITES, "true")
    for schema, function in batches:
        batch = session().read.format("stateplan.batch").schema(schema).load()
        function(batch, 0)
