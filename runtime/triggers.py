"""When batches run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from ..planner.description import trigger_text
from ..planner.model.errors import DescriptionError
from ..planner.model.expressions.intervals import DAY_MICROS, IntervalError, read_interval

TriggerKind = Literal["default", "processing_time", "once", "available_now", "manual"]


@dataclass(frozen=True)
class Trigger:
    """When batches run.

    Attributes:
        kind: `default`: one after the other, as fast as there is data; `processing_time`: at each
            multiple of the interval; `once`: one batch with all there is; `available_now`: batches
            within the sources' limits until all that was there at the start is done; `manual`: in
            `process_all_available` alone, in the caller's thread.
        interval_ms: for `processing_time`.
    """

    kind: TriggerKind = "default"
    interval_ms: int = 0

    @property
    def ends(self) -> bool:
        """Whether a query with this trigger ends by itself."""
        return self.kind in ("once", "available_now")

    def next_time_ms(self, last_ms: int) -> int:
        """The next multiple of the interval after a trigger at this time."""
        return 0 if not self.interval_ms else (last_ms // self.interval_ms + 1) * self.interval_ms


DEFAULT = Trigger()
ONCE = Trigger("once")
AVAILABLE_NOW = Trigger("available_now")
MANUAL = Trigger("manual")


def processing_time(interval: str) -> Trigger:
    """A trigger at each multiple of an interval such as `10 seconds`, `1 minute 0.5 seconds`.

    Raises:
        DescriptionError: the text is no such interval.
    """
    total = -1
    with suppress(IntervalError):
        months, days, micros = read_interval(interval)
        if not months:
            total = days * DAY_MICROS + micros
    if total < 0:
        raise DescriptionError(
            "STATEPLAN_BAD_TRIGGER",
            f"The trigger interval '{interval}' is no interval of days, hours or less.",
            hint="Write it as '10 seconds' or '1 minute 30 seconds'.",
        )
    return Trigger("processing_time", total // 1000)


def parse_trigger(given: object) -> Trigger:
    """`default`, `once`, `available_now`, or an interval for processing time.

    Raises:
        DescriptionError: it is neither such a text nor a mapping that `trigger_text` takes.
    """
    text = trigger_text(given)
    match text.strip().lower().replace("-", "_"):
        case "default" | "":
            return DEFAULT
        case "once":
            return ONCE
        case "available_now" | "availablenow":
            return AVAILABLE_NOW
        case _:
            return processing_time(text)
