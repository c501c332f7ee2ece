"""PySpark code planned in this process: the client's calls go straight to the service."""

from __future__ import annotations

import atexit
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import CodeType, ModuleType
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import utils
from pyspark.sql.connect import functions
from pyspark.sql.connect.client import ChannelBuilder
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.plan import DataSource
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.pandas import functions as pandas_functions
from pyspark.sql.pandas.functions import ArrowUDFType, PandasUDFType

from ..model.catalog import Source
from ..model.errors import AnalysisError, DescriptionError, StateplanError
from ..model.settings.conf import Conf
from .call_sites import record, replace
from .classic import adopt_habits, spark_words
from .failures import NotPlanned, not_started
from .places import remember_source
from .reads import SOURCE_OPTION
from .service import PlannerService
from .session import Planned, PlannerSession

_LOCK = threading.RLock()
_THREAD = threading.local()


class LocalChannel:
    """Stands where a gRPC channel would: a call is a call of the service's method."""

    def __init__(self, service: PlannerService) -> None:
        self._service = service

    def unary_unary(self, method: str, *_: Any, **__: Any) -> Callable[..., Any]:
        """A call by its path, such as `/spark.connect.SparkConnectService/Config`."""
        called = getattr(self._service, method.rsplit("/", 1)[-1])
        return lambda request, **_: called(request, None)

    unary_stream = stream_unary = stream_stream = unary_unary

    def close(self) -> None:
        """Nothing is open."""


class _LocalBuilder(ChannelBuilder):
    def __init__(self, service: PlannerService) -> None:
        super().__init__()
        self._service = service

    def toChannel(self) -> Any:
        return LocalChannel(self._service)

    @property
    def host(self) -> str:
        return "local"


@contextmanager
def local_session(service: PlannerService) -> Iterator[SparkSession]:
    """A client session of this process, the active one of the thread while it lasts."""
    builder: Any = _LocalBuilder(service)
    spark = SparkSession(connection=builder)
    client = spark._client
    client.disable_reattachable_execute()
    atexit.unregister(client._on_exit)
    active = SparkSession._active_session
    before = getattr(active, "session", None)
    active.session = spark
    try:
        yield spark
    finally:
        active.session = before


def evaluate(
    code: str | Callable[..., Any],
    sources: Mapping[str, Source],
    conf: Conf,
    *,
    name: str = "<string>",
) -> tuple[PlannerSession, Planned]:
    """The DataFrame of PySpark code: one expression over the sources' names and `F`, or a function.

    Args:
        code: the expression; or a function whose parameters are named as sources are.
        sources: a DataFrame for each stands under its name.
        conf: the session's settings.
        name: what errors call the code.

    Raises:
        StateplanError: the code is no expression, does not give a DataFrame, or is refused; Python
            and PySpark errors of its own calls are reported as such.
    """
    service = PlannerService(catalog=sources, conf=conf)
    if isinstance(code, str):
        remember_source(name, code)
    with _LOCK, local_session(service) as spark, ExitStack() as ends:
        for change in (record, adopt_habits, _plan_functions_here):
            ends.callback(change())
        session = service.session(spark._client._session_id)
        # The sources are DataFrames here, no views: SQL text within the code does not see them.
        session.named_tables = False
        scope = {source: _frame(spark, source, s.streaming) for source, s in sources.items()}
        program = _compiled(code, name) if isinstance(code, str) else None
        with _as_messages():
            if program is not None:
                found = eval(program, {**scope, "F": _functions()})
            else:
                assert not isinstance(code, str)
                found = code(**_arguments(code, scope))
            if not isinstance(found, DataFrame):
                raise _no_frame(found)
            relation = found._plan.plan(spark._client)
        return session, session.planned(relation)


def _plan_functions_here() -> Callable[[], None]:
    """`udf` and `pandas_udf` make Connect's functions in this thread; gives what ends that.

    PySpark decides by a variable of the whole process; other threads may use a classic session.
    """
    of_process: Callable[[], bool] = utils.is_remote
    _THREAD.depth = getattr(_THREAD, "depth", 0) + 1

    def is_remote() -> bool:
        return getattr(_THREAD, "depth", 0) > 0 or of_process()

    put_back = replace({module: {"is_remote": is_remote} for module in (utils, pandas_functions)})

    def end() -> None:
        put_back()
        _THREAD.depth -= 1

    return end


def _functions() -> ModuleType:
    """The client's functions, and the names for kinds of functions that stand beside them."""
    kinds = {"PandasUDFType": PandasUDFType, "ArrowUDFType": ArrowUDFType}
    module = ModuleType("pyspark.sql.functions")
    module.__dict__.update({**vars(functions), **kinds, "__name__": module.__name__})
    module.__name__ = "pyspark.sql.functions"
    return module


def _arguments(function: Callable[..., Any], frames: Mapping[str, DataFrame]) -> dict[str, Any]:
    """The DataFrames that a function's parameters name."""
    wanted = inspect.signature(function).parameters.values()
    missing = [p.name for p in wanted if p.name not in frames and p.default is p.empty]
    if missing:
        raise DescriptionError.of(
            "STATEPLAN_SOURCE_MISSING",
            hint=f"Name its parameters as sources are: {', '.join(frames) or 'there are none'}.",
            function=getattr(function, "__name__", function),
            parameter=missing[0],
        )
    return {p.name: frames[p.name] for p in wanted if p.name in frames}


def _frame(spark: SparkSession, name: str, streaming: bool) -> DataFrame:
    plan = DataSource(options={SOURCE_OPTION: name}, is_streaming=streaming)
    return DataFrame(plan, spark)


def _compiled(code: str, name: str) -> CodeType:
    try:
        # In brackets, so that an expression may go over several lines.
        return compile(f"({code.strip()}\n)", name, "eval")
    except SyntaxError as error:
        raise DescriptionError.of(
            "STATEPLAN_PYTHON_SYNTAX", reason=error.msg, line=error.lineno
        ) from None


@contextmanager
def _as_messages() -> Iterator[None]:
    """Errors of the user's code as messages: PySpark's own with its condition."""
    hint = "Fix the PySpark code."
    try:
        yield
    except NotPlanned as error:
        raise not_started() if error.of_stream else error from None
    except (StateplanError, RecursionError):
        raise
    except PySparkException as error:
        raise AnalysisError(*spark_words(error), hint=hint) from None
    except AttributeError as error:
        message = str(error).replace("pyspark.sql.connect.", "pyspark.sql.")
        raise AnalysisError(None, message, hint=hint) from None
    except Exception as error:
        message = f"The PySpark code failed: {type(error).__name__}: {error}"
        raise AnalysisError(None, message, hint=hint) from None


def _no_frame(found: object) -> DescriptionError:
    return DescriptionError.of("STATEPLAN_PYTHON_NO_DATAFRAME", type=type(found).__name__)
