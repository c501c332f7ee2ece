"""What a client of the embedded engine asks of rows at rest: answered as a batch of a stream is.

Sail answers by itself, too, but here and there with values, names and types of its own. So a query
that is planned as Spark plans it, and of which all is known to be exact, runs as a stream's batch;
what is not is left to Sail as it is.
"""

from __future__ import annotations

import re
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import grpc
import pyarrow as pa
from pyspark.errors import PySparkException

from ...planner.connect.analyze import analyze
from ...planner.connect.failures import unsupported
from ...planner.connect.places import Message
from ...planner.connect.protocol import UNKNOWN_TABLE
from ...planner.model.errors import AnalysisError, PlanningError, RuntimeFailure, StateplanError
from ..batch_inputs import readers_of
from ..batch_time import with_batch_time
from ..engines.batch import Batch
from ..engines.context import BatchContext
from ..engines.embedded import EmbeddedEngine
from ..engines.embedded_errors import spark_error
from ..failures import innermost
from ..kernels.errors import NOT_EXACT, KernelError
from ..plan import RuntimePlans
from .files_at_rest import FilesAtRest
from .messages import WRITES, has_metadata, relation_of, replace_relation
from .observed_metrics import Observed, observes
from .row_order import lies_anyhow, put_in_order
from .statistics import put_statistics

if TYPE_CHECKING:
    from ...planner.incremental_execution import IncrementalExecution
    from ..sources.tables import Table
    from .client_session import ClientSession

_SHOWN = ("show_string", "html_string", "tail")
_CUT = re.compile(r"only showing top \d+ rows?\n$")
_RECORD, _NOTHING = "-RECORD ", "(0 rows)"
_LEAST_ROOM = 3
_PERHAPS_THE_ENGINES = (
    *(*UNKNOWN_TABLE, "UNRESOLVED_ROUTINE", "UNSUPPORTED_DATATYPE"),
    "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY",
)
"""How the conditions begin of what the engine may know, or run, though the planner does not."""
_KNOWN_WITHOUT_ROWS = ("schema", "tree_string", "is_local", "same_semantics", "semantic_hash")
"""Questions about a DataFrame that the planner answers."""


class BatchQuery:
    """A query over rows at rest, prepared to run on the client's own session.

    Args:
        session: the client's.
        relation: what it asks for.

    Raises:
        StateplanError: the planner refuses it, or its result is not known to be Spark's.
    """

    def __init__(self, session: ClientSession, relation: Message) -> None:
        reading = session.reading(at_rest=True)
        execution = reading.execution(reading.planned(relation), supported=False)
        tables = reading.static_tables(execution.checked)
        self._engine = EmbeddedEngine(session.spark)
        try:
            self._prepare(execution, tables)
        except RuntimeFailure as error:
            if error.condition != NOT_EXACT:
                raise
            # Kernels compute no DISTINCT of one set of columns, but what it is rewritten to.
            rewritten = execution.without_distinct_aggregates()
            if rewritten is execution:
                raise
            self._prepare(rewritten, tables)

    def _prepare(self, execution: IncrementalExecution, tables: Mapping[str, Table]) -> None:
        plan = with_batch_time(execution.executed_plan, int(time.time() * 1000))
        tasks = self._engine.task_count(execution.conf)
        self._engine.configure(execution.conf, tasks)
        try:
            context = BatchContext(
                engine=self._engine,
                sources={name: self._engine.read_table(table) for name, table in tables.items()},
                state_location="",  # nothing at rest has state
                batch_id=0,
                conf=execution.conf,
                tasks=tasks,
                attempt=str(uuid.uuid4()),
                readers=readers_of(self._engine, tables, {}),
                one_action=True,
            )
            self._batch = Batch(plan, context, RuntimePlans())
            if self._batch.plan.subqueries:  # each would be a view of the client's session
                raise unsupported("A subquery that gives one value of rows at rest")
        except BaseException:
            self.let_go()
            raise

    def relation(self) -> Message:
        """Its rows as a relation; kernels run now.

        Raises:
            Exception: something fails; see `in_sparks_words`.
        """
        return relation_of(self._batch.dataframe)

    def observed(self) -> Mapping[str, Mapping[str, Any]]:
        """The metrics that it has observed, once its rows have passed."""
        return self._batch.results().observed

    @contextmanager
    def in_sparks_words(self) -> Iterator[None]:
        """Raise what fails as it runs under Spark's condition, where that is known."""
        try:
            yield
        except Exception as error:
            found = self._engine.failure(error)
            if isinstance(found, KernelError):
                raise RuntimeFailure(*innermost(found)) from error
            raise _failure(error) from error

    def let_go(self) -> None:
        """Forget its rows."""
        self._engine.forget()


@contextmanager
def put_rows_at_rest(
    session: ClientSession, request: Message, kind: str | None
) -> Iterator[Observed | None]:
    """Put what our own code computes and reads in a request's relations while the engine has it.

    Args:
        session: the client's, on the embedded engine.
        request: to execute something.
        kind: of the command. The rows of files that a view reads stay as long as the session.

    Returns:
        What gives the query's own metrics, if it has some.
    """
    relation = _asked(request, kind)
    refused: Exception | None = None
    observing = relation is not None and observes(relation)
    anyhow = kind is None and relation is not None and lies_anyhow(relation, session.ordered_views)
    if relation is not None:
        put_statistics(session.spark, relation)
        try:
            query = BatchQuery(session, relation)
        except (StateplanError, PySparkException) as error:
            refused = _unless_sure(error)
        else:
            try:
                refused = _put(query, relation)
                if refused is None:
                    if anyhow:
                        put_in_order(relation)
                    with query.in_sparks_words():
                        yield query.observed if observing else None
                    return
            finally:
                query.let_go()
        if observing:
            raise refused  # the engine would leave the metrics out
    if kind == "sql_command":
        # What it refers to comes back to the client, and here again with what asks for rows.
        text = request.plan.command.sql_command.input
        with _in_sparks_words(lambda: _refusal(session, text)):
            yield None
        return
    with _in_sparks_words(lambda: refused), _files_put(session, request, kind):
        if relation is not None and anyhow:
            put_in_order(relation)
        yield None
    _warn(session, refused)


def _warn(session: ClientSession, refused: Exception | None) -> None:
    """Warn, once in a session, that the answer of Sail's to a query may differ from Spark's."""
    if not isinstance(refused, RuntimeFailure) or refused.condition != NOT_EXACT:
        return
    if refused.message not in session.warned:
        session.warned.add(refused.message)
        print(f"warning: {refused.message} The answer is Sail's.", file=sys.stderr)


def _put(query: BatchQuery, relation: Message) -> Exception | None:
    """Put a query's rows in the place of its relation; or why the engine is to compute them."""
    try:
        with query.in_sparks_words():
            replace_relation(relation, query.relation())
    except PySparkException as error:
        return error
    except RuntimeFailure as error:
        if error.condition != NOT_EXACT:
            raise
        return error
    return None


def is_query(session: ClientSession, relation: Message) -> bool:
    """Whether SQL text is a query that the planner can read, which needs no engine yet."""
    return _refusal(session, relation) is None


def shown_as_spark(answer: Message) -> Message:
    """An answer to `show()`: Sail has narrower columns, and a line more below what it cuts."""
    if answer.HasField("arrow_batch"):
        shown = pa.ipc.open_stream(answer.arrow_batch.data).read_all()
        text = shown.column(0)[0].as_py()
        changed = _NOTHING if text.strip() == _NOTHING else _with_room(text)
        changed = changed[:-1] if _CUT.search(changed) else changed
        if changed != text:
            out = pa.BufferOutputStream()
            with pa.ipc.new_stream(out, shown.schema) as stream:
                stream.write_table(pa.table([[changed]], schema=shown.schema))
            answer.arrow_batch.data = out.getvalue().to_pybytes()
    return answer


def _with_room(text: str) -> str:
    """Rows shown one below the other: names and values have room for three letters at least."""
    lines = text.split("\n")
    rows = [line for line in lines if line.startswith(" ")]
    if not lines[0].startswith(_RECORD) or not rows:
        return text
    widths = (width for width in (1, 2) if all(r[width + 1 : width + 4] == " | " for r in rows))
    name = next(widths, _LEAST_ROOM)
    more = " " * (_LEAST_ROOM - name)
    wider = " " * (_LEAST_ROOM - (len(rows[0]) - name - len("  |  ")))
    width = len(rows[0] + more + wider)

    def roomy(line: str) -> str:
        if line.startswith(" "):
            return f"{line[: name + 1]}{more}{line[name + 1 :]}{wider}"
        return line.ljust(width, "-") if line.startswith(_RECORD) else line

    return "\n".join(map(roomy, lines))


def known_without_rows(
    session: ClientSession, request: Message, ask: Callable[[], Message]
) -> Message:
    """The answer to a question about a DataFrame over rows at rest.

    Args:
        session: the client's, on the embedded engine.
        request: the question.
        ask: asks the engine.
    """
    refused = None
    if request.WhichOneof("analyze") in _KNOWN_WITHOUT_ROWS and not has_metadata(request):
        try:
            return analyze(session.reading(at_rest=True), request)
        except (StateplanError, PySparkException) as error:
            refused = _unless_sure(error)
            put_statistics(session.spark, request)
    with _in_sparks_words(lambda: refused), _files_put(session, request, None):
        return ask()


def _asked(request: Message, kind: str | None) -> Message | None:
    """The relation whose rows a request needs."""
    if kind in WRITES:
        return cast(Message, getattr(request.plan.command, kind).input)
    if not request.plan.HasField("root"):
        return None
    relation: Message = request.plan.root
    while (shown := relation.WhichOneof("rel_type")) in _SHOWN:
        relation = getattr(relation, shown).input
    return relation


@contextmanager
def _in_sparks_words(refusal: Callable[[], Exception | None]) -> Iterator[None]:
    """Where the engine fails at what the planner refuses, too, the planner knows Spark's words."""
    try:
        yield
    except Exception as error:
        refused = refusal()
        if isinstance(refused, AnalysisError | PlanningError) and not _ours(refused.condition):
            raise refused from error
        raise _failure(error) from error


def _unless_sure(error: Exception) -> Exception:
    """Why the planner refuses something; raised where Spark is known to refuse it, too.

    The engine might answer, in a way of its own.
    """
    if not isinstance(error, AnalysisError) or _ours(error.condition):
        return error
    assert error.condition is not None
    if error.condition.startswith(_PERHAPS_THE_ENGINES):
        return error
    raise error


def _ours(condition: str | None) -> bool:
    """Whether a condition is none of Spark's."""
    return condition is None or condition.startswith("STATEPLAN_")


def _refusal(session: ClientSession, relation: Message) -> Exception | None:
    """Why the planner refuses a relation; None: it does not."""
    try:
        session.reading(at_rest=True).planned(relation)
    except (StateplanError, PySparkException) as error:
        return error
    return None


def _failure(error: Exception) -> Exception:
    """What made a query fail on the engine, under Spark's condition where that is known."""
    if not (isinstance(error, grpc.RpcError) and isinstance(error, grpc.Call)):
        return error
    known = spark_error(error.details() or "")
    if known is not None:
        return RuntimeFailure(known.condition, known.text)
    condition, message = innermost(error)
    return error if condition is None else RuntimeFailure(condition, message)


@contextmanager
def _files_put(session: ClientSession, request: Message, kind: str | None) -> Iterator[None]:
    """Put the rows of files that our own code reads in the places of reads of files."""
    if not FilesAtRest.are_read(request):
        yield
        return
    files = session.files_at_rest(session.conf)
    keep = kind == "create_dataframe_view"
    if keep:
        session.keep_files(files)
    try:
        files.put(request)
        yield
    except Exception as error:
        if (failure := files.failure()) is not None:
            raise failure from error
        raise
    finally:
        if not keep:
            files.let_go()
