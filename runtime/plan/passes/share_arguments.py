"""Computes what an exact form says several times in a select of its own, below.

    Select [exact(exact(a + b) * c)]     Select [exact(x * c)]
                                         +- Select [a, b, c, exact(a + b) AS x]

Nested as it stands, the text of an exact form grows by a factor with each level. Where Spark
computes an argument for some rows only it is null for the others; where nobody knows for which, it
stays where it is, and the text is measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....planner.model.expressions.core import (
    Alias,
    Call,
    CaseWhen,
    Expression,
    LambdaFunction,
    lit,
    to_attribute,
)
from ....planner.model.settings.conf import Conf
from ..facts import Exactness
from ..nodes import Apart, RuntimeNode, Select

LONGEST = 1 << 18
"""Letters of an expression's text, roughly: the engine reads no more in good time."""
_SHORT = 1 << 11
"""The same, of a text that may say what it wants several times."""


def share_arguments(select: Select, exactness: Exactness, conf: Conf) -> RuntimeNode:
    """The select over as many others as its exact forms are deep; itself if they are not nested."""
    if all(text_size(e, exactness) <= _SHORT for e in select.expressions):
        return select
    below = select.child
    for condition in select.conditions:  # each is put to the rows that the one before has left
        own = _Shared(exactness, conf)
        made = own.of(condition)
        below = own.over(below, [made])
        if own.levels:
            # The engine would move the condition down, each argument in full where it is named.
            kept = Alias(child=made, name="kept")
            below = Apart(child=Select(child=below, columns=(*select.child.output, kept)))
            made = to_attribute(kept)
        below = Select(child=below, conditions=(made,), columns=select.child.output)
    columns = _Shared(exactness, conf)
    found = tuple(map(columns.of, select.columns))
    return Select(child=columns.over(below, found), columns=found)


class _Shared:
    """The arguments that some expressions share.

    Attributes:
        levels: named arguments; those of a level are made of those of the levels before it.
    """

    def __init__(self, exactness: Exactness, conf: Conf) -> None:
        self._exactness = exactness
        self._conf = conf
        self._known: dict[Expression, tuple[int, Alias]] = {}
        self._level: dict[int, int] = {}
        self.levels: list[list[Alias]] = []

    def over(self, child: RuntimeNode, users: Sequence[Expression]) -> RuntimeNode:
        """A node with those arguments as further columns that the users name."""
        wanted = [frozenset[int]().union(child.output_ids, *(e.references for e in users))]
        for level in reversed(self.levels[1:]):
            wanted.append(wanted[-1].union(*(e.references for e in level)))
        for level, ids in zip(self.levels, reversed(wanted), strict=False):
            passed = (column for column in child.output if column.expr_id in ids)
            child = Select(child=child, columns=(*passed, *level))
        return child

    def of(self, expression: Expression, when: Expression | None = None) -> Expression:
        """The expression over the arguments' columns.

        Args:
            expression: with exact forms.
            when: for which rows Spark computes it; None: for all.
        """
        if isinstance(expression, LambdaFunction):
            return expression  # its parts are made of its parameters
        counts = self._exactness.repeats(expression)
        part = expression.children[0] if counts else expression
        lazy = {id(one) for one in self._exactness.lazy(part)}
        found: list[Expression] = []
        for child, count in zip(part.children, counts or (1,) * len(part.children), strict=True):
            if id(child) not in lazy:
                wanted = when
            else:
                inner = _computed_when(part, found)
                if inner is None:  # nobody knows for which rows
                    found.append(child)
                    continue
                wanted = inner if when is None else Call(name="and", arguments=(when, inner))
            value = self.of(child, wanted)
            # Which of the others are computed may hang on it.
            if (count > 1 or lazy) and self._has_forms(value):
                value = self._guarded(value, wanted)
            found.append(value)
        part = part.with_new_children(tuple(found))
        return expression.with_new_children((part,)) if counts else part

    def _guarded(self, value: Expression, when: Expression | None) -> Expression:
        """A value's column, null where Spark would not compute it."""
        if when is None or not self._exactness.can_fail(value, self._conf):
            return self._column(value)
        case = CaseWhen(conditions=(when,), values=(value,))
        exact = self._exactness.exact(case, self._conf)
        return value if self._exactness.disagreements(exact, self._conf) else self._column(exact)

    def _has_forms(self, expression: Expression) -> bool:
        return any(self._exactness.repeats(part) for part in expression.walk())

    def _column(self, value: Expression) -> Expression:
        if value not in self._known:
            level = max(
                (self._level[i] + 1 for i in value.references if i in self._level), default=0
            )
            made = Alias(child=value, name="shared")
            self._known[value] = level, made
            self._level[made.expr_id] = level
            while len(self.levels) <= level:
                self.levels.append([])
            self.levels[level].append(made)
        return to_attribute(self._known[value][1])


def _computed_when(part: Expression, before: Sequence[Expression]) -> Expression | None:
    """For which rows the next child is computed, after those before it; None: not known."""
    match part:
        case CaseWhen():
            conditions = before[::2]
            if len(before) % 2 == 0:  # a condition, or what stands behind ELSE
                return _all(list(map(_is_not_true, conditions)))
            return _all([*map(_is_not_true, conditions[:-1]), _is_true(conditions[-1])])
        case Call(name="if"):
            return _is_true(before[0]) if len(before) == 1 else _is_not_true(before[0])
        case Call(name="and"):
            return Call(name="coalesce", arguments=(before[0], lit(True)))
        case Call(name="or"):
            return _is_not_true(before[0])
        case Call(name="coalesce"):
            return _all([Call(name="isnull", arguments=(one,)) for one in before])
    return None


def _is_true(condition: Expression) -> Expression:
    return Call(name="coalesce", arguments=(condition, lit(False)))


def _is_not_true(condition: Expression) -> Expression:
    return Call(name="not", arguments=(_is_true(condition),))


def _all(conditions: Sequence[Expression]) -> Expression:
    first, *rest = conditions
    for condition in rest:
        first = Call(name="and", arguments=(first, condition))
    return first


def text_size(expression: Expression, exactness: Exactness) -> int:
    """About how many letters an expression's text has."""
    counts = exactness.repeats(expression)
    part = expression.children[0] if counts else expression
    pairs = zip(part.children, counts or (1,) * len(part.children), strict=True)
    return 20 + sum(count * (10 + text_size(child, exactness)) for child, count in pairs)
