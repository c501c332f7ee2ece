"""What is changed in PySpark and in Python where `stateplan explain` or `run` runs a user's file.

All of it happens in that process alone, and here. A file is written for an application that it
starts on a cluster, with a JVM, data and time; over Connect to a planner it has none of them.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import column as column_module
from pyspark.sql import context as context_module
from pyspark.sql.connect.catalog import Catalog
from pyspark.sql.connect.client import core
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.datasource import DataSourceRegistration
from pyspark.sql.connect.readwriter import DataFrameReader
from pyspark.sql.connect.session import SparkSession as ConnectSession
from pyspark.sql.connect.streaming import readwriter

from ..call_sites import record
from ..classic import adopt_habits
from .context import PlannedContext, session
from .endings import ends_without
from .frames import change_frames
from .models import plan_models
from .notebook import is_cell
from .placeholders import take_stand_ins
from .program import Program
from .rules import Rules
from .stand_ins import StandIn
from .unset import Unset, asking

_JVM = ("_jvm", "_jsparkSession", "_jsc", "_sc", "_wrapped")
_SLEEPS = 100  # of one line, until it is taken for a loop that waits for ever


class WaitedEnough(KeyboardInterrupt):
    """A loop that would wait for ever, ended as a user would end it."""


class Patches:
    """Everything that is changed, by subject.

    Args:
        program: the file.
        note: prints a note for the user.
        context: what `spark.sparkContext` is.

    Attributes:
        failures: errors of the planner in the order they came, caught by the file or not.
        unset: variables and settings that the file asked for and that are not set.
        batches: the schema of each foreachBatch and its function.
        started: whether the file has started a stream.
        absent: files and folders that the file looked for and that are not here, the latest last.
    """

    def __init__(
        self,
        program: Program,
        note: Callable[[str], None] = lambda text: None,
        context: type[PlannedContext] = PlannedContext,
    ) -> None:
        self.program = program
        self.note = note
        self.context = context
        self.failures: list[BaseException] = []
        self.unset = Unset(program)
        self.batches: list[tuple[Any, Callable[..., Any]]] = []
        self.started = False
        self.absent: dict[str, None] = {}

    def apply(self) -> None:
        """Change all of it."""
        os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
        os.environ.pop("MASTER", None)
        # `spark.stop()` ends the connection before PySpark takes its listeners back.
        warnings.filterwarnings("ignore", "Failed to remove the listener", UserWarning)
        record()
        adopt_habits()
        self.sessions()
        self._contexts()
        self._functions_in_python()
        self._data_sources()
        change_frames(self.program)
        take_stand_ins()
        self._errors()
        self._waits()
        self.unset.stand_in()
        self._files()
        plan_models()

    def sessions(self) -> None:
        """Sessions start as an application does, whatever cluster the file names."""
        context = self.context
        validated = SparkSession.Builder._validate_startup_urls
        looked_up = ConnectSession.__getattribute__

        def validate(self: Any) -> None:
            self._options.pop("spark.master", None)
            self._options.pop("spark.remote", None)
            validated(self)

        def look_up(self: Any, name: str) -> Any:
            if name == "sparkContext":
                return context_of(self)
            if name in _JVM:
                return context.of_java(f"spark.{name}")
            return looked_up(self, name)

        def context_of(spark: Any) -> PlannedContext:
            return contexts.setdefault(id(spark), context.__new__(context))

        contexts: dict[int, PlannedContext] = {}
        builder: Any = SparkSession.Builder
        builder._validate_startup_urls = validate
        builder.enableHiveSupport = lambda self: self
        connected: Any = ConnectSession
        connected.__getattribute__ = look_up
        connected.newSession = lambda self: self
        # `SparkSession(sc)` is a constructor of the classic session only.
        classic: Any = SparkSession
        classic.__new__ = lambda cls, *arguments, **named: session()
        Rules.passed_through = (SparkSession.Builder,)

    def one_call_for_each_plan(self) -> None:
        """The rows of an engine on this machine come in one call.

        Over a network PySpark's client asks again for what it has missed. For that it acknowledges
        each batch of rows in a call of its own, which takes a quarter of a small query's time.
        """
        made = core.SparkConnectClient.__init__

        def make(self: Any, *arguments: Any, **named: Any) -> None:
            made(self, *arguments, **{"use_reattachable_execute": False, **named})

        client: Any = core.SparkConnectClient
        client.__init__ = make

    def functions_of_batches(self, named: Callable[[Any, Any], bytes]) -> None:
        """foreachBatch functions stay in this process, as an application's do.

        Args:
            named: takes a function and its session, and gives what stands for it.
        """

        def for_each_batch(writer: Any, function: Any) -> Any:
            sent = writer._write_proto.foreach_batch.python_function
            sent.command = named(function, writer._session)
            sent.python_ver = f"{sys.version_info[0]}.{sys.version_info[1]}"
            return writer

        writer: Any = readwriter.DataStreamWriter
        writer.foreachBatch = for_each_batch

    def _contexts(self) -> None:
        """Classes that need a JVM, or that Connect's client lacks."""
        package: Any = pyspark
        package.SparkContext = self.context
        for name in ("RDD", "SparkFiles", "Broadcast", "StatusTracker"):
            if not hasattr(package, name):
                setattr(package, name, StandIn(f"pyspark.{name}"))
        module: Any = ModuleType("pyspark.context")
        for name in ("SparkContext", "SparkConf", "RDD", "SparkFiles", "Broadcast"):
            setattr(module, name, getattr(package, name))
        package.context = sys.modules["pyspark.context"] = module

        def old_context(*arguments: Any, **named: Any) -> Any:
            return session()

        for name in ("SQLContext", "HiveContext"):
            setattr(pyspark.sql, name, old_context)
            setattr(context_module, name, old_context)
            setattr(package, name, old_context)
        old_context.getOrCreate = old_context  # type: ignore[attr-defined]
        for name in ("_to_java_column", "_to_seq"):
            setattr(column_module, name, StandIn(f"pyspark.sql.column.{name}"))

    def _functions_in_python(self) -> None:
        """Functions are not sent anywhere to be run: those that cannot be pickled are planned too.

        A foreachBatch function most often holds a session or a client.
        """
        patches = self

        def for_each_batch(writer: Any, function: Callable[..., Any]) -> Any:
            if patches.program.into_batches:
                frame = DataFrame(writer._write_stream._child, writer._session)
                patches.batches.append((frame.schema, function))
            writer._write_proto.foreach_batch.python_function.command = b"not sent"
            writer._write_proto.foreach_batch.python_function.python_ver = "3"
            return writer

        writer: Any = readwriter.DataStreamWriter
        writer.foreachBatch = for_each_batch
        writer.table = writer.toTable  # on Databricks
        kinds = {module.CloudPickleSerializer for module in _picklers()}
        for kind in kinds:
            kind.dumps = _dumps(kind.dumps)

    def _data_sources(self) -> None:
        """Data sources in Python stay here, too, and readers of them are given their columns."""
        kinds: dict[str, Any] = {}

        def register(self: Any, source: Any) -> None:
            kinds[source.name().lower()] = source

        registration: Any = DataSourceRegistration
        registration.register = register
        readers: tuple[Any, ...] = (readwriter.DataStreamReader, DataFrameReader)
        for reader in readers:
            reader.load = _with_columns(reader.load, kinds)

    def _errors(self) -> None:
        """Errors that the file catches are reported all the same."""
        client: Any = core.SparkConnectClient
        raised = client._handle_rpc_error
        failures = self.failures

        def raise_(self: Any, error: Any) -> Any:
            try:
                return raised(self, error)
            except Exception as error_:
                failures.append(error_)
                raise

        client._handle_rpc_error = raise_

    def _waits(self) -> None:
        """Nothing runs meanwhile, so nobody sleeps; a loop of sleeps, or of starts, is ended."""
        slept, writer = time.sleep, readwriter.DataStreamWriter
        started = writer._start_internal
        counts: dict[tuple[str, bytes], int] = {}
        program, patches = self.program, self

        def again(place: str, what: bytes = b"") -> None:
            counts[place, what] = counts.get((place, what), 0) + 1
            if counts[place, what] > _SLEEPS:
                raise WaitedEnough(place)

        def sleep(seconds: Any) -> None:
            place = program.place(nearest=True)
            if not place or threading.current_thread() is not threading.main_thread():
                return slept(seconds)
            return again(place)

        def start(self: Any, *arguments: Any, **named: Any) -> Any:
            # A stream that has ended is started anew where it should run for ever.
            patches.started = True
            again(program.place(), self._write_proto.SerializeToString())
            return started(self, *arguments, **named)

        time.sleep = sleep
        writer._start_internal = start  # type: ignore[method-assign]

    def _files(self) -> None:
        """Which files the file looks for that are not there; those that it needs are taken to be.

        So are tables that it needs, and what it needs of a text that is not here.
        """
        looked, program = os.stat, self.program

        def stat(path: Any, *arguments: Any, **named: Any) -> Any:
            try:
                return looked(path, *arguments, **named)
            except FileNotFoundError:
                asked = program.own_frame(asking())
                if asked is None or is_cell(str(path)) or str(path).startswith("<"):
                    raise
                if self._needed(asked, f"'{path}'"):
                    names = {"isdir", "is_dir"} & _names_up_to(asked)
                    return looked(program.folder if names else __file__)
                if str(path) not in sys.path:  # where Python looks for modules
                    self.missed(path)
                raise

        python: Any = os
        python.stat = stat
        catalog: Any = Catalog
        exists = catalog.tableExists

        def table_exists(self: Any, name: str, *arguments: Any, **named: Any) -> bool:
            known: bool = exists(self, name, *arguments, **named)
            return known or needed(program.own_frame(sys._getframe(1)), f"the table '{name}'")

        needed = self._needed
        catalog.tableExists = table_exists
        for name in ("search", "match", "fullmatch"):
            setattr(re, name, _matching(getattr(re, name)))

    def _needed(self, frame: FrameType | None, what: str) -> bool:
        found = ends_without(frame)
        if found:
            place = self.program.place(of=frame)
            self.note(f"{place}: {what} is taken to be there: the code would end without it")
        return found

    def missed(self, path: Any) -> None:
        """The file looked for another that is not there."""
        self.absent.pop(str(path), None)
        self.absent[str(path)] = None


def _names_up_to(asked: FrameType) -> set[str]:
    """The names of the functions that run between a frame and this one."""
    names, frame = set(), sys._getframe(1)
    while frame is not asked and frame.f_back is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return names


def _matching(find: Callable[..., Any]) -> Callable[..., Any]:
    """A function of regular expressions: a stand-in has the parts that the code needs of it."""

    def found(pattern: Any, text: Any, *arguments: Any, **named: Any) -> Any:
        match = find(pattern, text, *arguments, **named)
        if match is None and isinstance(text, StandIn) and ends_without(sys._getframe(1)):
            return StandIn(f"re.{find.__name__}({text._stand_in})")
        return match

    return found


def _picklers() -> list[Any]:
    """The modules that pickle functions."""
    return [m for m in list(sys.modules.values()) if hasattr(m, "CloudPickleSerializer")]


def _dumps(pickled: Callable[..., bytes]) -> Callable[..., bytes]:
    def dumps(self: Any, value: Any) -> bytes:
        try:
            return pickled(self, value)
        except Exception:
            return f"{type(value).__name__} {id(value)}".encode()

    return dumps


def _with_columns(loaded: Callable[..., Any], kinds: dict[str, Any]) -> Callable[..., Any]:
    """A reader's `load` that asks a registered class for the columns that nobody has given."""

    def load(
        self: Any, path: Any = None, format: Any = None, schema: Any = None, **options: Any
    ) -> Any:
        kind = kinds.get(str(format or self._format).lower())
        if kind is not None and not (schema or self._schema):
            given = self._options | options | ({} if path is None else {"path": path})
            schema = kind(options=given).schema()
        return loaded(self, path, format, schema, **options)

    return load
