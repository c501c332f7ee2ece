"""Where the plans of started streams go."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from ..explaining import explain, with_advice
from ..incremental_execution import IncrementalExecution
from ..model.errors import StateplanError
from ..model.expressions.core import Origin
from ..pipelines import printing
from ..pipelines.model import Pipeline
from .places import where_from

if TYPE_CHECKING:
    from .session import PlannerSession


class Console:
    """Prints a plan for every stream that is started.

    Args:
        mode: the explain mode.
        out: a text stream; standard output by default.
        advice: with advice on each plan.
    """

    def __init__(
        self, mode: str = "simple", out: TextIO | None = None, *, advice: bool = False
    ) -> None:
        self.mode = mode
        self.advice = advice
        self.out = out
        self.shown: list[tuple[str, IncrementalExecution]] = []
        self.pipelines: list[Pipeline] = []

    def note(self, text: str, origin: Origin | None = None) -> None:
        """Say on standard error what a script asked for, at that line, and does not get."""
        print(f"note: {where_from(origin)}{text}.", file=sys.stderr, flush=True)

    def show(
        self,
        execution: IncrementalExecution,
        name: str | None,
        sink: str,
        origin: Origin | None,
        *,
        batch: bool = False,
    ) -> None:
        """Print a started query's plan below a line that says which query it is.

        JSON stands alone, so that it can be read by a machine. With `batch`, it is a write of a
        foreachBatch function.

        Raises:
            StateplanError: the query cannot be planned.
        """
        called = f"query '{name}'" if name else "query"
        kind = "write of a batch" if batch else f"{called}, {execution.output_mode} mode"
        self._print(f"{where_from(origin)}{kind}, to {sink}", execution)

    def _print(self, title: str, execution: IncrementalExecution) -> None:
        text = explain(execution, self.mode)
        if self.advice:
            from ..advice import advice_on_execution

            text = with_advice(text, self.mode, advice_on_execution(execution))
        if self.mode != "json":
            text = f"-- {title}\n{text}\n"
        self.shown.append((title, execution))
        self._write(text)

    def _write(self, text: str) -> None:
        try:
            print(text, file=self.out or sys.stdout, flush=True)
        except BrokenPipeError:
            # Who reads, such as `head`, has seen enough: the rest goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), (self.out or sys.stdout).fileno())

    def show_pipeline(self, pipeline: Pipeline) -> None:
        """Print a pipeline's graph, then the plan of each flow that writes a table or a sink.

        JSON is one document with the graph and the plans.

        Raises:
            StateplanError: a plan cannot be shown in this mode.
        """
        self.pipelines.append(pipeline)
        planned = [(flow, flow.execution) for flow in pipeline.flows if flow.execution is not None]
        if self.mode == "json":
            document = printing.graph_document(pipeline)
            text = json.dumps(document, indent=2, ensure_ascii=False)
            self.shown += [(printing.flow_title(pipeline, flow), plan) for flow, plan in planned]
            self._write(text)
            return
        graph = _GRAPHS.get(self.mode, printing.graph_text)
        self._write(graph(pipeline))
        for flow, execution in planned:
            self._print(printing.flow_title(pipeline, flow), execution)

    def flow_failed(self, name: str, error: StateplanError) -> None:
        """Say on standard error why a flow of a pipeline has no plan."""
        lines = [f"error: flow '{name}': {error.message}"]
        if error.place:
            lines.append(f"at: {error.place}")
        lines.append(f"hint: {error.hint}")
        print(*lines, sep="\n", file=sys.stderr, flush=True)


_GRAPHS: dict[str, Callable[[Pipeline], str]] = {
    "mermaid": printing.graph_mermaid,
    "dot": printing.graph_dot,
}


@dataclass(frozen=True)
class Call:
    """A command of a client.

    Attributes:
        session: the client's.
        console: where plans and notes go.
        origin: the line of the user's code that made it, where the client sent its stack.
        method: what that line called; empty where `origin` is None.
    """

    session: PlannerSession
    console: Console
    origin: Origin | None
    method: str

    def note(self, text: str) -> None:
        """Say what the call asks for and does not get."""
        self.console.note(text, self.origin)
