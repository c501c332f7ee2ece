"""Lines of the user's code on every relation and expression that PySpark's client makes.

The client itself sends the place of few expressions and of no relation. Both have a field for it
in the protocol; `record` fills it from the call stack.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import pyspark
from pyspark.sql.connect import expressions, plan, proto

_LIBRARIES = tuple(
    os.path.join(os.path.dirname(os.path.abspath(path)), "")
    for path in (pyspark.__file__, __file__)
)

# What the JVM gives as the place of functions that PySpark calls without one.
_NATIVE = "java.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)"
_FUNCTIONS = os.path.join("sql", "connect", "functions", "builtin.py")


def call_site() -> tuple[str, str] | None:
    """The innermost line that is neither PySpark's nor this package's, and what it called.

    The line is `path:line`. What it called reads as in classic PySpark's messages: methods of
    columns with the line, functions without; other calls are left out.
    """
    frame: FrameType | None = sys._getframe(1)
    called = ""
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((*_LIBRARIES, "<frozen")):
            line = f"{code.co_filename}:{frame.f_lineno}"
            return line, called.format(line)
        if code.co_name == "wrapper" and "func" in frame.f_locals:
            name = getattr(frame.f_locals["func"], "__name__", "")
            called = f'"{name}" was called from\n{{}}'
        elif code.co_filename.endswith(_FUNCTIONS):
            called = f'"{code.co_name}" was called from\n{_NATIVE}'
        frame = frame.f_back
    return None


def replace(members: Mapping[Any, Mapping[str, Any]]) -> Callable[[], None]:
    """Give classes or modules other members; gives a function that puts their own back."""
    own = {owner: {name: getattr(owner, name) for name in new} for owner, new in members.items()}

    def put(members: Mapping[Any, Mapping[str, Any]]) -> None:
        for owner, named in members.items():
            for name, member in named.items():
                setattr(owner, name, member)

    put(members)
    return lambda: put(own)


def record() -> Callable[[], None]:
    """Start to fill in places; gives a function that ends it."""
    start_plan = plan.LogicalPlan.__init__
    create_relation = plan.LogicalPlan._create_proto_relation
    start_expression = expressions.Expression.__init__

    def new_plan(self: Any, *arguments: Any, **named: Any) -> None:
        start_plan(self, *arguments, **named)
        self._stateplan_site = call_site()

    def new_relation(self: Any) -> Any:
        relation = create_relation(self)
        site = getattr(self, "_stateplan_site", None)
        if site is not None:
            relation.common.origin.python_origin.call_site = site[0]
        return relation

    def new_expression(self: Any) -> None:
        start_expression(self)
        site = call_site()
        if self.origin is None and site is not None:
            python = proto.PythonOrigin(call_site=site[0], fragment=site[1])
            self.origin = proto.Origin(python_origin=python)

    relations = {"__init__": new_plan, "_create_proto_relation": new_relation}
    return replace(
        {plan.LogicalPlan: relations, expressions.Expression: {"__init__": new_expression}}
    )
