"""Functions with OVER: one Window operator per partitioning and order, under the select list.

    Project [user, rn]
    +- Project [user, ts, rn, rn]
       +- Window [row_number() windowspecdefinition(...) AS rn], [user], [ts ASC NULLS FIRST]
          +- Project [user, ts]

Streams refuse these later; the refusal shows the plan and the column's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    SortOrder,
    to_attribute,
)
from ....planner.model.expressions.equality import Canonical, canonical
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.windows import Window
from ....planner.model.text.quoting import to_sql_expr
from ....planner.model.text.text import default_frame, frame_in_plan, pretty
from ....planner.model.tree import replace
from ..failures import failure
from ..names.names import qualified
from .frames import check_frame


def with_order(window: WindowExpression) -> WindowExpression:
    """Ranks compare the columns that the window is ordered by: they become its arguments."""
    function = window.function
    if not isinstance(function, Call) or not function.spec.rank_like:
        return window
    keys = tuple(o.child for o in window.order_by if isinstance(o, SortOrder))
    return replace(window, function=replace(function, arguments=keys))


def has_window(expression: Expression) -> bool:
    """Whether a function with OVER stands in the expression."""
    return expression.holds(WindowExpression)


def refuse_window_in_where(condition: Expression) -> None:
    """WHERE comes before windows.

    Raises:
        AnalysisError: the condition uses one.
    """
    if has_window(condition):
        raise failure("WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE", clauseName="WHERE")


def check_windows(plan: LogicalPlan) -> AnalysisError | None:
    """Window functions without OVER, and OVER behind other functions."""
    for expression in plan.expressions:
        error = _check(expression, plan)
        if error is not None:
            return error
    return None


def _check(expression: Expression, plan: LogicalPlan) -> AnalysisError | None:
    if isinstance(expression, WindowExpression):
        function = expression.function
        if isinstance(function, AggregateExpression) and function.distinct:
            return failure(
                "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED",
                origin=expression.origin,
                windowExpr=to_sql_expr(expression),
            )
        if error := check_frame(expression):
            return error
        if isinstance(function, AggregateExpression):
            return None
        if isinstance(function, Call) and _is_window_function(function):
            return _misused(expression, function)
        return failure(
            "UNSUPPORTED_EXPR_FOR_WINDOW", origin=function.origin, sqlExpr=to_sql_expr(function)
        )
    if _is_window_function(expression):
        return failure(
            "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
            origin=plan.origin,
            funcName=to_sql_expr(expression),
        )
    for child in expression.children:
        error = _check(child, plan)
        if error is not None:
            return error
    return None


def _misused(window: WindowExpression, function: Call) -> AnalysisError | None:
    """A window function over rows in no order, or over a frame that is not its own."""
    if window.frame is not None and function.name in ("lag", "lead"):
        return failure("_LEGACY_ERROR_TEMP_1035", prettyName=function.name)
    own = default_frame(window)
    if window.frame not in (None, own.frame) and function.name != "nth_value":
        return failure(
            "_LEGACY_ERROR_TEMP_1036", wf=frame_in_plan(window), required=frame_in_plan(own)
        )
    if window.order_by:
        return None
    return failure(
        "WINDOW_FUNCTION_FRAME_NOT_ORDERED",
        wf_name=function.name,
        wf_expr=pretty(qualified(function)),
    )


def _is_window_function(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.spec.kind == "window"


# -------------------------------------------------------------------------------- taking apart


@dataclass
class _Parts:
    """What the operators below the select list compute."""

    inputs: list[Expression] = field(default_factory=list)
    known: dict[Canonical, AttributeReference] = field(default_factory=dict)
    windows: list[Alias] = field(default_factory=list)
    computed: int = 0
    named: int = 0

    def keep(self, item: Expression) -> AttributeReference:
        """A column of the operator below for a window; the same expression is computed once.

        What the select list computes too is computed again, but for its columns.
        """
        key = canonical(item)
        if key not in self.known:
            if not isinstance(item, AttributeReference | Alias):
                item = Alias(child=item, name=f"_w{self.computed}")
            self.computed += 1
            self.inputs.append(item)
            self.known[key] = to_attribute(item)
        return self.known[key]

    def regular(self, item: Expression) -> AttributeReference:
        """An entry of the select list without windows, computed below."""
        self.inputs.append(item)
        column = to_attribute(item)
        self.known.setdefault(canonical(column), column)
        return column

    def over_columns(self, window: WindowExpression) -> WindowExpression:
        """The window with everything it reads computed below."""
        function = window.function
        call = function.function if isinstance(function, AggregateExpression) else function
        assert isinstance(call, Call)
        arguments = tuple(a if a.foldable else self.keep(a) for a in call.arguments)
        call = replace(call, arguments=arguments)
        over: Expression = call
        if isinstance(function, AggregateExpression):
            only = None if function.filter is None else self.keep(function.filter)
            over = replace(function, function=call, filter=only)
        return replace(
            window,
            function=over,
            partition_by=tuple(self.keep(e) for e in window.partition_by),
            order_by=tuple(o.map_children(self.keep) for o in window.order_by),
        )

    def item(self, item: Expression) -> Expression:
        """An entry of the select list over the windows' columns."""
        if not has_window(item):
            return to_attribute(item)
        if isinstance(item, Alias) and isinstance(item.child, WindowExpression):
            alias = replace(item, child=self.over_columns(item.child))
            self.windows.append(alias)
            return alias.to_attribute()
        return self._inside(item)

    def _inside(self, expression: Expression) -> Expression:
        if isinstance(expression, WindowExpression):
            name = f"_we{self.named}"
            self.named += 1
            alias = Alias(child=self.over_columns(expression), name=name)
            self.windows.append(alias)
            return alias.to_attribute()
        if has_window(expression):
            return expression.map_children(self._inside)
        if isinstance(expression, AggregateExpression) or not expression.children:
            return expression if expression.foldable else self.keep(expression)
        return expression.map_children(self._inside)


def extract_windows(plan: LogicalPlan) -> LogicalPlan:
    """The select list over Window operators, if it has functions with OVER."""
    match plan:
        case Project(project_list=items) | Aggregate(aggregates=items):
            ready = plan.resolved and any(has_window(item) for item in items)
        case _:
            return plan
    if not ready or any(_check(item, plan) is not None for item in items):
        return plan
    parts = _Parts()
    for item in items:
        if not has_window(item):
            parts.regular(item)
    over = tuple(parts.item(item) for item in items)
    if isinstance(plan, Aggregate):
        below: LogicalPlan = replace(plan, aggregates=tuple(parts.inputs))
    else:
        assert isinstance(plan, Project)
        below = replace(plan, project_list=tuple(parts.inputs))
    for group in _groups(parts.windows):
        first = group[0].child
        assert isinstance(first, WindowExpression)
        below = Window(
            windows=tuple(group),
            partition_by=first.partition_by,
            order_by=tuple(o for o in first.order_by if isinstance(o, SortOrder)),
            child=below,
            origin=plan.origin,
        )
    with_window = [new for new, old in zip(over, items, strict=True) if has_window(old)]
    middle = Project(project_list=(*below.output, *with_window), child=below)
    return Project(project_list=tuple(to_attribute(e) for e in over), child=middle)


def _groups(windows: Sequence[Alias]) -> list[list[Alias]]:
    groups: dict[object, list[Alias]] = {}
    for alias in windows:
        window = alias.child
        assert isinstance(window, WindowExpression)
        key = (
            tuple(canonical(e) for e in window.partition_by),
            tuple(canonical(e) for e in window.order_by),
        )
        groups.setdefault(key, []).append(alias)
    return list(groups.values())
