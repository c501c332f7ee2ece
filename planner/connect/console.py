"""Where the plans of started streams go."""

from __future__ import annotations

import sys
from typing import TextIO

from ..explaining import explain, with_advice
from ..incremental_execution import IncrementalExecution
from ..model.expressions import Origin


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

    def note(self, text: str, caller: tuple[Origin, str] | None) -> None:
        """Say on standard error what a script asked for and does not get."""
        place = "" if caller is None else f"{caller[0].file}:{caller[0].line}: "
        print(f"note: {place}{text}.", file=sys.stderr, flush=True)

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
        place = "" if origin is None else f"{origin.file}:{origin.line}: "
        called = f"query '{name}'" if name else "query"
        kind = "write of a batch" if batch else f"{called}, {execution.output_mode} mode"
        title = f"{place}{kind}, to {sink}"
        text = explain(execution, self.mode)
        if self.advice:
            from ..advice import advice_on_execution

            text = with_advice(text, self.mode, advice_on_execution(execution))
        if self.mode != "json":
            text = f"-- {title}\n{text}\n"
        self.shown.append((title, execution))
        print(text, file=self.out or sys.stdout, flush=True)
