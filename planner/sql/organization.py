"""What puts a query's rows in order and counts them: ORDER BY, LIMIT and others, and WINDOW."""

from __future__ import annotations

from ..model.expressions.core import Expression, Origin, SortOrder
from ..model.plans.logical import Offset, Sort, limited
from ..model.plans.partitions import RepartitionByExpression
from ..model.plans.query_plan import LogicalPlan
from .calls import NamedWindow, WindowSpec
from .errors import missing_window
from .grouping import GroupingParser

Windows = dict[str, WindowSpec]
_SORTED_WITHIN = ["DISTRIBUTE BY", "SORT BY"]


class OrganizationParser(GroupingParser):
    """Reads the clauses behind a whole query term."""

    def organized(self, plan: LogicalPlan, *, piped: bool = False) -> LogicalPlan:
        """The plan below ORDER BY, SORT BY, LIMIT, OFFSET and WINDOW, or without any of them.

        Args:
            plan: the query term.
            piped: the clauses stand behind `|>`, which takes one at a time and no WINDOW.
        """
        begin = self.index
        plan, arranged = self._arranged(plan)
        windows = self.window_clause()
        plan, counted = self._counted(plan)
        if self.index == begin:
            return plan if piped else self.with_windows(plan, None)
        origin = self.origin(begin)
        if len(arranged) > 1 and arranged != _SORTED_WITHIN:
            self.refuse_at("UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES", origin)
        if not piped:
            return self.with_windows(plan, windows)
        if windows is not None:
            self.refuse_at(
                "UNSUPPORTED_FEATURE.CLAUSE_WITH_PIPE_OPERATORS",
                origin,
                clauses="the WINDOW clause",
            )
        if arranged and counted:
            several = "SORT BY ... DISTRIBUTE BY ..."
            self.refuse_at(
                "MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS",
                origin,
                clause1=arranged[0] if len(arranged) == 1 else several,
                clause2=counted,
            )
        return plan

    def _arranged(self, plan: LogicalPlan) -> tuple[LogicalPlan, list[str]]:
        """The plan below ORDER BY, CLUSTER BY, DISTRIBUTE BY and SORT BY; those that are there."""
        order, order_origin = self._sort_orders("ORDER")
        cluster = self._expressions_by("CLUSTER")
        distribute = self._expressions_by("DISTRIBUTE")
        sort, sort_origin = self._sort_orders("SORT")
        if cluster:
            plan = RepartitionByExpression(child=plan, by=cluster)
            by = tuple(SortOrder(child=e, origin=e.origin) for e in cluster)
            plan = Sort(child=plan, order=by, is_global=False)
        if distribute:
            plan = RepartitionByExpression(child=plan, by=distribute)
        if order:
            plan = Sort(child=plan, order=order, is_global=True, origin=order_origin)
        if sort:
            plan = Sort(child=plan, order=sort, is_global=False, origin=sort_origin)
        clauses = {
            "ORDER BY": order, "CLUSTER BY": cluster, "DISTRIBUTE BY": distribute, "SORT BY": sort,
        }  # fmt: skip
        return plan, [clause for clause, expressions in clauses.items() if expressions]

    def _counted(self, plan: LogicalPlan) -> tuple[LogicalPlan, str]:
        """The plan below LIMIT and OFFSET; the last of them that is there, else nothing."""
        limit = self.expression() if self.take("LIMIT") and not self.take("ALL") else None
        offset = self.expression() if self.take("OFFSET") else None
        if offset is not None:
            plan = Offset(child=plan, offset=offset)
        if limit is not None:
            plan = limited(plan, limit)
        if offset is not None:
            return plan, "OFFSET"
        return plan, "" if limit is None else "LIMIT"

    def _sort_orders(self, word: str) -> tuple[tuple[SortOrder, ...], Origin | None]:
        start = self.index
        if not self.take(word, "BY"):
            return (), None
        return tuple(self.listed(self.sort_order)), self.origin(start)

    def _expressions_by(self, word: str) -> tuple[Expression, ...]:
        return tuple(self.listed(self.expression)) if self.take(word, "BY") else ()

    # ------------------------------------------------------------------------------------- windows

    def window_clause(self) -> Windows | None:
        """`WINDOW w AS (...), v AS w`, or None."""
        if not self.take("WINDOW"):
            return None
        found = dict(self.listed(self._named_window))
        return {name: found.get(spec.name.lower(), spec) for name, spec in found.items()}

    def _named_window(self) -> tuple[str, WindowSpec]:
        name = self.name().lower()
        self.need("AS")
        return name, self.window_spec()

    def with_windows(
        self, plan: LogicalPlan, windows: Windows | None, *, piped: bool = False
    ) -> LogicalPlan:
        """The plan with the windows of its WINDOW clause in the place of their names.

        Args:
            plan: a query, or the SELECT of a pipe.
            windows: those of the clause; None where there is none.
            piped: they are for the plan's uppermost operator alone.
        """
        if not self.named_windows:
            return plan

        def in_place(node: Expression) -> Expression:
            if not isinstance(node, NamedWindow):
                return node
            self.named_windows -= 1
            spec = (windows or {}).get(node.window.lower())
            if spec is None:
                return self.refuse(missing_window(node.window, None))
            return spec.over(node)

        if piped:
            return plan.transform_expressions(in_place)
        return plan.transform_up(lambda node: node.transform_expressions(in_place))
