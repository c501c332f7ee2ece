"""The handle of a query that was started."""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..planner.model.errors import StateplanError
from .failures import batch_failure
from .listeners import Listeners
from .micro_batch import MicroBatchExecution
from .progress import StreamingQueryProgress, clock_ms
from .triggers import Trigger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLLING_SECONDS = 0.01  # spark.sql.streaming.pollingDelay
_LOOK_SECONDS = 0.5  # between checks that the waiting client is still connected
_SECONDS_AT_EXIT = 10.0  # for a user's function that does not end
_KEPT_PROGRESS = 100  # spark.sql.streaming.numRecentProgressUpdates


class StreamingQuery:
    """A query that was started: PySpark's handle, in Python's spelling and in PySpark's own.

    Attributes:
        id: the query's id, kept by its checkpoint.
        run_id: this run's id.
        name: the query's name, if it has one.
    """

    def __init__(
        self,
        execution: MicroBatchExecution,
        trigger: Trigger,
        listeners: Listeners,
        close: Callable[[], None],
    ) -> None:
        self.id = execution.identity.id
        self.run_id = execution.identity.run_id
        self.name = execution.identity.name
        self._execution = execution
        self._trigger = trigger
        self._listeners = listeners
        self._close = close
        self._recent: deque[StreamingQueryProgress] = deque(maxlen=_KEPT_PROGRESS)
        self._changed = threading.Condition(threading.RLock())
        self._active = True
        self._stopping = threading.Event()
        self._interrupting = False
        self._round_number = 0
        self._last_idle_round = 0
        self._in_trigger = False
        self._error: StateplanError | None = None
        self._thread: threading.Thread | None = None

    # ---------------------------------------------------------------------------------- what it is

    @property
    def is_active(self) -> bool:
        """Whether the query has neither ended, failed nor been stopped."""
        return self._active

    @property
    def status(self) -> dict[str, Any]:
        """`message`, `isDataAvailable`, `isTriggerActive`."""
        if self._error is not None:
            message = f"Terminated with exception: {self._error.message}"
        else:
            message = self._execution.message if self._active else "Stopped"
        return {
            "message": message,
            "isDataAvailable": self._active and self._execution.data_available,
            "isTriggerActive": self._active and self._in_trigger,
        }

    @property
    def last_progress(self) -> StreamingQueryProgress | None:
        """The figures that `recent_progress` has last, or None before the first."""
        return self._recent[-1] if self._recent else None

    @property
    def recent_progress(self) -> list[StreamingQueryProgress]:
        """The figures of the last batches, at most 100, oldest first.

        Among them, as in Spark, those of a first trigger that finds nothing to do, and of one every
        ten seconds (`spark.sql.streaming.noDataProgressEventInterval`) while there is nothing.
        """
        return list(self._recent)

    @property
    def next_batch(self) -> int:
        """The id of the batch that runs, or runs next."""
        return self._execution.position.batch_id

    def explain(self, extended: bool = False) -> None:
        """Print the plan of the batch that runs or ran last: its state versions and watermarks.

        Args:
            extended: the logical plans too.
        """
        print(self.explained(extended))

    def explained(self, extended: bool = False) -> str:
        """What `explain` prints."""
        return self._execution.explained(extended=extended)

    @property
    def watermark_ms(self) -> int:
        """The watermark that the next batch runs under, in milliseconds since 1970."""
        return self._execution.position.watermark_ms

    def advance_watermark(self, watermark_ms: int) -> None:
        """For tests, between batches: move the watermark without rows; it never goes back."""
        self._execution.advance_watermark(watermark_ms)

    def exception(self) -> StateplanError | None:
        """What ended the query, if it failed."""
        return self._error

    # ------------------------------------------------------------------------------ what it can do

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the query ends; whether it did, within so many seconds.

        Raises:
            StateplanError: the query failed.
        """
        ended = self.await_end(timeout)
        if self._error is not None:
            raise self._error
        return ended

    def await_end(self, timeout: float | None = None) -> bool:
        """Wait until the query ends, well or not; whether it did, within so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._active, timeout)
        return not self._active

    def process_all_available(self, waiting: Callable[[], bool] | None = None) -> None:
        """Run or wait until there is nothing left to do: data as of now, and no-data batches.

        Args:
            waiting: asked every half second whether the caller still waits; if not, this
                returns early.

        Raises:
            StateplanError: the query failed.
        """
        if self._trigger.kind == "manual":
            self._until_idle()
        else:
            with self._changed:
                # A round under way may have looked before the newest data came: a later one.
                seen = self._round_number
                while self._active and self._last_idle_round <= seen:
                    self._changed.wait(_LOOK_SECONDS)
                    if waiting is not None and not waiting():
                        return
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Stop the query, in the middle of a batch too; the batch runs again at a restart."""
        self._stop(math.inf)

    def _stop(self, seconds: float) -> None:
        """Stop the query, and wait for it so many seconds."""
        self._interrupting = True
        self._stopping.set()
        if self._thread is None:
            self._end(None)
            return
        end = time.monotonic() + seconds
        while self._thread.is_alive() and time.monotonic() < end:
            self._interrupt()
            self._thread.join(0.2)
            if self._thread is threading.current_thread():
                return

    def stop_after_batch(self) -> None:
        """Stop the query once the batch that runs is committed.

        Raises:
            StateplanError: the batch failed.
        """
        self._stopping.set()
        if self._thread is None:
            self._end(None)
        elif self._thread is not threading.current_thread():
            self._thread.join()
            self.await_termination()

    # What PySpark calls the same.
    runId = property(lambda self: self.run_id)
    isActive = is_active
    lastProgress = last_progress
    recentProgress = recent_progress
    awaitTermination = await_termination
    processAllAvailable = process_all_available

    # ------------------------------------------------------------------------------------ the loop

    def run(self) -> None:
        """Run in this thread until the trigger is done, the query is stopped or fails."""
        try:
            with _tagged(self._execution.engine.spark, self.run_id):
                self._loop()
        except StateplanError as error:
            self._end(error)
        except (Exception, SystemExit) as error:  # also what a user's function exits by
            self._end(batch_failure(error, self.next_batch))
        except BaseException:
            self._end(None)
            raise
        else:
            self._end(None)

    def run_in_background(self) -> None:
        """Run in a daemon thread, until the process ends at the latest.

        Python ends such a thread wherever it is, and the process aborts if that is in native code:
        so the query is stopped before, while the engine still runs.
        """

        def run() -> None:
            try:
                self.run()
            finally:
                atexit.unregister(self._stop)

        self._thread = threading.Thread(
            target=run, name=f"stream execution {self.run_id}", daemon=True
        )
        atexit.register(self._stop, _SECONDS_AT_EXIT)
        self._thread.start()

    def _loop(self) -> None:
        match self._trigger.kind:
            case "once":
                self._round()
            case "available_now":
                while not self._stopping.is_set() and self._round():
                    pass
            case _:
                self._loop_until_stopped()

    def _loop_until_stopped(self) -> None:
        while not self._stopping.is_set():
            started = clock_ms()
            ran = self._round()
            due = self._trigger.next_time_ms(started)
            wait = (due - clock_ms()) / 1000
            if wait > 0:
                self._stopping.wait(wait)
            elif not ran:
                self._stopping.wait(_POLLING_SECONDS)

    def _until_idle(self) -> None:
        """Run batches in the caller's thread until there is nothing to do.

        A second batch without data under the same watermark is the last: only state that leaves by
        the processing time asks for another one, and would for ever.
        """
        try:
            with _tagged(self._execution.engine.spark, self.run_id):
                rested_at = None
                while self._active and self._round():
                    if self._execution.data_available:
                        rested_at = None
                    elif rested_at == self.watermark_ms:
                        break
                    else:
                        rested_at = self.watermark_ms
        except StateplanError as error:
            self._end(error)
        except BaseException:
            self._end(None)
            raise

    def _round(self) -> bool:
        """One trigger; whether it ran a batch."""
        with self._changed:
            self._round_number += 1
            self._in_trigger = True
        try:
            progress = self._execution.run_trigger()
        finally:
            with self._changed:
                self._in_trigger = False
        if progress is not None:
            self._recent.append(progress)
            self._listeners.progressed(progress)
        else:
            if self._listeners.idle():
                self._recent.append(self._execution.idle_progress())
            with self._changed:
                self._last_idle_round = self._round_number
                self._changed.notify_all()
        return progress is not None

    def _end(self, error: StateplanError | None) -> None:
        with self._changed:
            if not self._active:
                return
            # What a stop interrupts fails: that is no failure of the query.
            self._error = None if self._interrupting else error
            self._active = False
            self._execution.close()
            self._close()
            self._changed.notify_all()
        self._listeners.terminated(self._error)

    def _interrupt(self) -> None:
        with suppress(Exception):  # the session is gone: nothing runs any more
            self._execution.engine.spark.interruptTag(_tag(self.run_id))


def _tag(run_id: str) -> str:
    return f"stateplan-{run_id}"


@contextmanager
def _tagged(spark: SparkSession, run_id: str) -> Iterator[None]:
    """Marks the Spark jobs of this thread as a query's, so that `stop` can end them."""
    spark.addTag(_tag(run_id))
    try:
        yield
    finally:
        with suppress(Exception):  # the session is gone
            spark.removeTag(_tag(run_id))
