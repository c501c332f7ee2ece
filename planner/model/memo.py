"""What is asked of the same nodes again and again, answered once in each run of a planner's phase.

Answers belong to a run, never to a node: a plan may be planned again under other settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

from .scopes import scope

N = TypeVar("N")
R = TypeVar("R")

Memo = defaultdict[Hashable, dict[int, tuple[object, Any]]]
"""By question, then by the identity of a node: the node, which it keeps alive, and the answer."""

_CURRENT: ContextVar[Memo | None] = ContextVar("stateplan_memo", default=None)


def memo_scope(memo: Memo | None = None) -> AbstractContextManager[None]:
    """Answers are kept meanwhile: in the given memo, else in a new one."""
    kept: Memo = defaultdict(dict) if memo is None else memo
    return scope(_CURRENT, kept)


def answers(question: Hashable) -> dict[int, tuple[object, Any]]:
    """What the run under way knows of a question; outside of any run nothing is kept."""
    memo = _CURRENT.get()
    return {} if memo is None else memo[question]


def remembered(function: Callable[[N], R]) -> Callable[[N], R]:
    """A function of one node that is computed once for each node in a run.

    Asked outside of any run, it opens one for the time of the answer.
    """

    @wraps(function)
    def answer(node: N) -> R:
        memo = _CURRENT.get()
        if memo is None:
            with memo_scope():
                return answer(node)
        known = memo[function]
        found = known.get(id(node))
        if found is None:
            found = known[id(node)] = (node, function(node))
        result: R = found[1]
        return result

    return answer


def is_marked(question: Hashable, node: object) -> bool:
    """Whether the run under way has marked the node."""
    memo = _CURRENT.get()
    return memo is not None and id(node) in memo[question]


def mark(question: Hashable, node: object) -> None:
    """Mark the node for the rest of the run; outside of any run this does nothing."""
    memo = _CURRENT.get()
    if memo is not None:
        memo[question][id(node)] = (node, True)
