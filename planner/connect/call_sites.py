"""Lines of the user's code on every relation and expression that PySpark's client makes.

The client itself tells the place of few expressions and of no relation. Both have a field for it
in the protocol; `record` fills it from the call stack.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pyspark
from pyspark.sql.connect import expressions, plan, proto

_LIBRARIES = tuple(
    os.path.join(os.path.dirname(os.path.abspath(path)), "")
    for path in (pyspark.__file__, __file__)
)


def call_site() -> str | None:
    """`path:line` of the innermost frame that is neither PySpark's nor this package's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((*_LIBRARIES, "<frozen")):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def record() -> Callable[[], None]:
    """Start to fill in places; gives a function that ends it."""
    made_plan = plan.LogicalPlan.__init__
    made_relation = plan.LogicalPlan._create_proto_relation
    made_expression = expressions.Expression.__init__

    def new_plan(self: Any, *arguments: Any, **named: Any) -> None:
        made_plan(self, *arguments, **named)
        self._stateplan_site = call_site()

    def new_relation(self: Any) -> Any:
        relation = made_relation(self)
        site = getattr(self, "_stateplan_site", None)
        if site is not None:
            relation.common.origin.python_origin.call_site = site
        return relation

    def new_expression(self: Any) -> None:
        made_expression(self)
        site = call_site()
        if self.origin is None and site is not None:
            self.origin = proto.Origin(python_origin=proto.PythonOrigin(call_site=site))

    plan.LogicalPlan.__init__ = new_plan  # type: ignore[method-assign]
    plan.LogicalPlan._create_proto_relation = new_relation  # type: ignore[method-assign]
    expressions.Expression.__init__ = new_expression  # type: ignore[method-assign]

    def end() -> None:
        plan.LogicalPlan.__init__ = made_plan  # type: ignore[method-assign]
        plan.LogicalPlan._create_proto_relation = made_relation  # type: ignore[method-assign]
        expressions.Expression.__init__ = made_expression  # type: ignore[method-assign]

    return end


@contextmanager
def recorded() -> Iterator[None]:
    """Places are filled in while this lasts."""
    end = record()
    try:
        yield
    finally:
        end()
