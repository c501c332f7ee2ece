"""Plan texts made comparable: what Spark draws afresh in each run is renumbered.

Expression ids become `#0`, `#1`, ... by first appearance (an `L` or a watermark's delay behind them
stays); counters inside generated names likewise; plan ids, subquery ids and UUIDs become
placeholders. Nothing else changes, and doing it twice is doing it once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_PLAN_ID = re.compile(r"\[plan_id=\d+\]")
_SUBQUERY_ID = re.compile(r"\[id=#\d+\]")
_EXPR_ID = re.compile(r"(#|(?<=_gen_alias_))(\d+)")
_COUNTERS = (re.compile(r"(\b_common_expr_)(\d+)"), re.compile(r"(\blambda \w+_)(\d+)(?=#)"))


def normalise(text: str) -> str:
    """The text with ids renumbered, as golden plans hold it.

    >>> normalise("Project [a#17, b#12L, a#17] runId = 0ec02b7b-ada5-4a71-970e-145453417319")
    'Project [a#0, b#1L, a#0] runId = <uuid>'
    """
    text = _UUID.sub("<uuid>", text)
    text = _PLAN_ID.sub("[plan_id=x]", text)
    text = _SUBQUERY_ID.sub("[id=x]", text)
    text = _EXPR_ID.sub(_renumber(), text)
    for counter in _COUNTERS:
        text = counter.sub(_renumber(), text)
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _renumber() -> Callable[[re.Match[str]], str]:
    seen: dict[str, int] = {}
    return lambda match: match[1] + str(seen.setdefault(match[2], len(seen)))
