"""Sources: streams that can be read again between two offsets.

`SOURCES` is all there are of our own: a format's name, and the class behind it. A package adds its
own by an entry point of the group `stateplan.sources`: the name, and a subclass of `Source` or of
PySpark's `DataSource`; a program by `stateplan.register`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...planner.model import registered
from ...planner.model.errors import DescriptionError
from ...planner.model.formats import RUN_FORMATS
from ...planner.model.registered import known_class, no_such_class
from ...planner.model.schemas.types import StructType
from ..options import Options
from .base import Source, SourceRequest
from .delta import DeltaSource
from .files import FileSource
from .kafka import KafkaSource
from .memory import MemorySource
from .python import PythonSource, is_data_source
from .rate import RateMicroBatchSource, RateSource
from .socket import SocketSource

SOURCES: Mapping[str, type[Source]] = {
    **dict.fromkeys(RUN_FORMATS, FileSource),
    "rate": RateSource,
    "rate-micro-batch": RateMicroBatchSource,
    "socket": SocketSource,
    "kafka": KafkaSource,
    "delta": DeltaSource,
    "memory": MemorySource,
}

__all__ = [
    "SOURCES",
    "FileSource",
    "MemorySource",
    "PythonSource",
    "RateSource",
    "Source",
    "SourceRequest",
    "make_source",
    "no_such_source",
]


_SINKS_ALONE = ("console", "noop")


def no_such_source(format: str) -> DescriptionError:
    """The error for a format that no stream reads."""
    return no_such_class(registered.SOURCES, format, SOURCES, others=_SINKS_ALONE)


def make_source(
    format: str,
    *,
    path: str | None = None,
    schema: StructType | None = None,
    options: Mapping[str, str] | None = None,
) -> Source:
    """The source that a description asks for.

    Raises:
        DescriptionError: there is no such source, an option is unusable, or its path or schema is
            missing.
        RuntimeFailure: the path does not exist, a server does not answer.
    """
    name = format.lower()
    kind = known_class(registered.SOURCES, format, SOURCES, others=_SINKS_ALONE)
    found = Options(options, f"the source '{name}'")
    request = SourceRequest(format=name, path=path, schema=schema, options=found)
    if is_data_source(kind):
        return PythonSource.create(request)
    created: Source = kind.create(request)
    return created
