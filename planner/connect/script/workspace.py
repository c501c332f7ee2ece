"""What a notebook finds without making it: `spark`, `sc`, `dbutils`, `display` and their kin."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.connect.dataframe import DataFrame

from .stand_ins import OtherwiseStandIn, StandIn


class NotebookExit(SystemExit):
    """`dbutils.notebook.exit(value)`: the notebook ends here, in good order."""


class Widgets:
    """A notebook's parameters: as given (`name=value` behind `--`), else their defaults.

    One that is not declared is given by the job that runs the notebook: it is a stand-in here.
    """

    def __init__(self, arguments: Sequence[str], empty: dict[str, None]) -> None:
        self.given = dict(one.lstrip("-").split("=", 1) for one in arguments if "=" in one)
        self.defaults: dict[str, str] = {}
        self.empty = empty

    def text(self, name: str, defaultValue: str = "", *rest: Any, **named: Any) -> None:
        """Declare a parameter and its default."""
        self.defaults[name] = defaultValue

    dropdown = combobox = multiselect = text

    def get(self, name: str, *rest: Any) -> str:
        """A parameter's value."""
        known = self.given.get(name, self.defaults.get(name))
        if known == "":
            self.empty.setdefault(name)
        return StandIn(f"widgets.{name}") if known is None else known

    getArgument = get

    def remove(self, name: str = "") -> None:
        """It stays."""

    def removeAll(self) -> None:
        """They stay."""

    def getAll(self) -> dict[str, str]:
        """All parameters."""
        return {name: self.get(name) for name in {**self.defaults, **self.given}}


class _Notebooks(OtherwiseStandIn):
    _path = "dbutils.notebook"

    def exit(self, value: Any = None) -> None:
        """End the notebook."""
        raise NotebookExit(0)


class _TaskValues:
    def get(self, taskKey: str, key: str, default: Any = None, debugValue: Any = None) -> Any:
        """What another task has set: its default, or a stand-in."""
        for value in (debugValue, default):
            if value is not None:
                return value
        return StandIn(f"taskValues.{key}")

    def set(self, *arguments: Any, **named: Any) -> None:
        """Nobody reads it."""


class _Jobs:
    taskValues = _TaskValues()


class Utilities(OtherwiseStandIn):
    """`dbutils`, or Fabric's and Synapse's: widgets have values; all else is a stand-in."""

    _path = "dbutils"
    notebook = _Notebooks()
    jobs = _Jobs()

    def __init__(self, arguments: Sequence[str], empty: dict[str, None]) -> None:
        self.widgets = Widgets(arguments, empty)


def show(shown: Any = None, *arguments: Any, **named: Any) -> None:
    """`display(df)`: starts a stream, as a notebook does, and does nothing with anything else."""
    if not (isinstance(shown, DataFrame) and shown.isStreaming):
        return
    name = named.get("streamName") or "display"
    writer = shown.writeStream.format("memory").queryName(str(name))
    try:
        writer.outputMode("append").start()
    except PySparkException as error:
        error.expected = True  # type: ignore[attr-defined]
        writer.outputMode("complete").start()


def provide(
    session: Callable[[], Any], context: Any, arguments: Sequence[str], empty: dict[str, None]
) -> None:
    """Put the names where every module of the user finds them that does not make them itself.

    Args:
        session: gives the session.
        context: the SparkContext.
        arguments: of the notebook.
        empty: takes the parameters that the code asks for and that are empty.
    """
    utilities = Utilities(arguments, empty)
    spark = session()
    found = {
        "spark": spark,
        "sc": context,
        "sqlContext": spark,
        **dict.fromkeys(("dbutils", "mssparkutils", "notebookutils"), utilities),
        "display": show,
        "displayHTML": show,
        "get_ipython": lambda: StandIn("get_ipython()"),
        "getArgument": utilities.widgets.get,
    }
    for name, value in found.items():
        setattr(builtins, name, value)
    frame: Any = DataFrame
    frame.display = show
    module: Any = ModuleType("pyspark.dbutils")
    module.DBUtils = lambda *arguments: utilities
    sys.modules["pyspark.dbutils"] = module
