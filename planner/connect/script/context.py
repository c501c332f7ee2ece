"""What `spark.sparkContext` and `SparkContext(...)` are: a planner has no cluster behind it."""

from __future__ import annotations

from typing import Any

from pyspark.conf import SparkConf
from pyspark.sql import SparkSession

from .rules import Rules
from .stand_ins import StandIn


def session(settings: dict[str, str] | None = None) -> Any:
    """The planner's session, with settings as at an application's start."""
    builder: Any = SparkSession.builder
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def frame(path: str, streaming: bool) -> Any:
    """A DataFrame that comes from what is not here: it has the columns that the code uses."""
    Rules.seen(path, "frame")
    spark = session()
    return (spark.readStream if streaming else spark.read).format(StandIn(path)).load()


class PlannedContext:
    """A SparkContext: its settings are used, all else about it is inert."""

    applicationId = "stateplan"
    appName = "stateplan"
    version = "4.3.0"
    master = "stateplan"
    defaultParallelism = 2
    _active_spark_context = None

    def __init__(
        self, master: Any = None, appName: Any = None, *arguments: Any, conf: Any = None, **_: Any
    ) -> None:
        session(dict(conf.getAll()) if isinstance(conf, SparkConf) else {})

    @classmethod
    def of_java(cls, name: str) -> Any:
        """What an attribute of a JVM's gives."""
        return StandIn(name)

    @classmethod
    def getOrCreate(cls, conf: Any = None) -> PlannedContext:
        """A context; all are the same."""
        return cls(conf=conf)

    @classmethod
    def setSystemProperty(cls, key: str, value: str) -> None:
        """There is no JVM."""

    def getConf(self) -> SparkConf:
        """The session's settings."""
        conf = SparkConf(loadDefaults=False)
        return conf.setAll(list(session().conf.getAll.items()))

    def broadcast(self, value: Any) -> Broadcast:
        """The value, to be read at its `value`."""
        return Broadcast(value)

    def setLogLevel(self, level: str) -> None:
        """There is no log."""

    def stop(self) -> None:
        """The session goes on: others may use it."""

    def __enter__(self) -> PlannedContext:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.of_java(f"sparkContext.{name}")


class Broadcast:
    """What `broadcast` gives."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def unpersist(self, blocking: bool = False) -> None:
        """It was never sent."""

    destroy = unpersist
