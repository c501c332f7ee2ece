"""Function calls with what may follow them, and the calls that have a grammar of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..model.expressions.core import Cast, EvalMode, Expression, Literal, SortOrder, lit
from ..model.expressions.unresolved import (
    NamedArgument,
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedStar,
)
from ..model.expressions.windows import Bound, Unit, WindowExpression, WindowFrame
from ..model.frozen import dataclass
from ..model.registry import find
from ..model.schemas.types import STRING
from ..model.settings.conf import Conf
from ..model.tree import replace
from .constants import ConstantParser
from .cursor import CLAUSE_WORDS
from .errors import unsupported
from .tokens import Token

_DATETIME_UNITS = frozenset(
    {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND",
     "MILLISECOND", "MICROSECOND"}
)  # fmt: skip
_TRIMS = {"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}


@dataclass(frozen=True, kw_only=True)
class WindowSpec:
    """What stands behind OVER or in a WINDOW clause: a window's name, or the window itself."""

    name: str = ""
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[Expression, ...] = ()
    frame: WindowFrame | None = None
    bounds: tuple[Expression, ...] = ()

    def over(self, window: WindowExpression) -> WindowExpression:
        """The window with the function and the origin of another."""
        return WindowExpression(
            function=window.function,
            partition_by=self.partition_by,
            order_by=self.order_by,
            frame=self.frame,
            bounds=self.bounds,
            origin=window.origin,
        )


@dataclass(frozen=True, kw_only=True)
class NamedWindow(WindowExpression):
    """`function OVER name`, until the query's WINDOW clause is read."""

    window: str


class CallParser(ConstantParser):
    """Reads calls."""

    def __init__(self, text: str, tokens: list[Token], conf: Conf) -> None:
        super().__init__(text, tokens, conf)
        self.named_windows = 0
        """How many NamedWindows wait for their query's WINDOW clause."""

    def call(self, start: int, name: str) -> Expression:
        """The arguments of a call whose name begins at `start`, and what follows them."""
        self.need("(")
        distinct, ignore_nulls = False, None
        arguments: list[Expression] = []
        if not self.take(")"):
            distinct = self._is_distinct()
            arguments = self.listed(self.argument)
            spec = find(name.lower())
            if spec is not None and spec.nulls_in_arguments and self.take("IGNORE", "NULLS"):
                ignore_nulls = True
            self.need(")")
        if name.upper() == "IDENTIFIER" and (parts := identifier(arguments)):
            return self._suffixes(
                start, UnresolvedAttribute(parts=parts, origin=self.origin(start))
            )
        # count(*) counts rows: Spark's parser writes count(1).
        match arguments:
            case [UnresolvedStar(target=())] if name.lower() == "count" and not distinct:
                arguments = [lit(1)]
        return self._suffixes(
            start,
            UnresolvedFunction(
                name=name,
                arguments=tuple(arguments),
                distinct=distinct,
                ignore_nulls=ignore_nulls,
                by_name=True,
                origin=self.origin(start),
            ),
        )

    def _is_distinct(self) -> bool:
        """DISTINCT or ALL before arguments; True for DISTINCT."""
        # A column may be called `distinct`: then a sign that goes on with it follows.
        if self.peek().symbol in (")", ",", "."):
            return False
        if self.take("DISTINCT"):
            return True
        self.take("ALL")
        return False

    def argument(self) -> Expression:
        """An argument of a call, with its name if it has one: `a => 1`."""
        start = self.index
        if self.token.is_name and self.peek().symbol == "=>":
            name = self.name()
            self.advance()
            value = self.expression()
            return NamedArgument(name=name, value=value, origin=self.origin(start))
        return self.expression()

    def _suffixes(self, start: int, node: Expression) -> Expression:
        """WITHIN GROUP, FILTER, IGNORE NULLS and OVER behind a call."""
        if self.take("WITHIN", "GROUP"):
            order = tuple(self.bracketed(self._order_by))
            node = self._changed(node, start, within=order)
        if self.ahead("FILTER", "("):
            self.advance(2)
            self.need("WHERE")
            condition = self.expression()
            self.need(")")
            node = self._changed(node, start, filter=condition)
        if self.take("IGNORE", "NULLS"):
            node = self._changed(node, start, ignore_nulls=True)
        elif self.take("RESPECT", "NULLS"):
            node = self._changed(node, start, ignore_nulls=False)
        if self.ahead("OVER") and self._is_window_ahead():
            self.advance()
            spec = self.window_spec()
            window = WindowExpression(function=node, origin=self.origin(start))
            if not spec.name:
                return spec.over(window)
            self.named_windows += 1
            return NamedWindow(function=node, window=spec.name, origin=window.origin)
        return node

    def _changed(self, node: Expression, start: int, **changes: Any) -> Expression:
        if isinstance(node, UnresolvedFunction):
            return replace(node, **changes)
        return self.refuse(unsupported("A clause behind this expression", self.origin(start)))

    # ------------------------------------------------------------------------------------ windows

    def _is_window_ahead(self) -> bool:
        """Whether a window follows OVER; else OVER is the call's name: `sum(a) OVER FROM t`."""
        following = self.peek()
        return following.symbol == "(" or (
            following.is_name and following.symbol not in CLAUSE_WORDS
        )

    def window_spec(self) -> WindowSpec:
        """`w`, `(w)` or `(PARTITION BY a ORDER BY b ROWS ...)`."""
        if self.token.is_name:
            return WindowSpec(name=self.name())
        return self.bracketed(self._window_in_brackets)

    def _window_in_brackets(self) -> WindowSpec:
        partition_by: list[Expression] = []
        order_by: list[SortOrder] = []
        for word in ("PARTITION", "DISTRIBUTE", "CLUSTER"):
            if self.take(word, "BY"):
                partition_by = self.listed(self.expression)
                break
        if self.take("ORDER", "BY") or self.take("SORT", "BY"):
            order_by = self.listed(self.sort_order)
        frame = None
        bounds: list[Expression] = []
        if self.take("ROWS"):
            frame = self._frame("ROWS", bounds)
        elif self.take("RANGE"):
            frame = self._frame("RANGE", bounds)
        elif self.token.is_name and not partition_by and not order_by:
            return WindowSpec(name=self.name())
        return WindowSpec(
            partition_by=tuple(partition_by),
            order_by=tuple(order_by),
            frame=frame,
            bounds=tuple(bounds),
        )

    def _frame(self, unit: Unit, distances: list[Expression]) -> WindowFrame:
        """The frame; the distances in it are added to the others."""
        if not self.take("BETWEEN"):
            return WindowFrame(unit=unit, lower=self._bound(distances))
        lower = self._bound(distances)
        self.need("AND")
        return WindowFrame(unit=unit, lower=lower, upper=self._bound(distances))

    def _bound(self, distances: list[Expression]) -> Bound:
        if self.take("CURRENT", "ROW"):
            return "CURRENT ROW"
        if self.take("UNBOUNDED"):
            return "UNBOUNDED PRECEDING" if self._precedes() else "UNBOUNDED FOLLOWING"
        start = self.index
        value = self.expression()
        precedes = self._precedes()
        if any(isinstance(node, UnresolvedAttribute) for node in value.walk()):
            value = self.refuse_at(
                "INVALID_SQL_SYNTAX.INVALID_WINDOW_FRAME_BOUND", self.origin(start)
            )
        if precedes:
            value = UnresolvedFunction(name="-", arguments=(value,), origin=value.origin)
        distances.append(value)
        return "DISTANCE"

    def _precedes(self) -> bool:
        side = self.take_one(("PRECEDING", "FOLLOWING"))
        if not side:
            self.fail("PRECEDING or FOLLOWING")
        return side == "PRECEDING"

    def _order_by(self) -> list[SortOrder]:
        self.need("ORDER", "BY")
        return self.listed(self.sort_order)

    def sort_order(self) -> SortOrder:
        """An entry of ORDER BY."""
        start = self.index
        child = self.expression()
        descending = self.take("DESC")
        if not descending:
            self.take("ASC")
        nulls_first = not descending
        if self.take("NULLS", "FIRST"):
            nulls_first = True
        elif self.take("NULLS", "LAST"):
            nulls_first = False
        return SortOrder(
            child=child,
            ascending=not descending,
            nulls_first=nulls_first,
            origin=self.origin(start),
        )

    # ------------------------------------------------------------- calls with keywords within them

    def keyword_call(self) -> Expression | None:
        """`CAST(a AS INT)` and the like; None where a name or a call like any other comes next."""
        read = _KEYWORD_CALLS.get(self.token.symbol)
        return self.attempt(lambda: read(self)) if read and self.peek().symbol == "(" else None

    def function(self, start: int, name: str, *arguments: Expression) -> UnresolvedFunction:
        """A call of a function, which stands from a token to the one before the cursor."""
        return UnresolvedFunction(name=name, arguments=arguments, origin=self.origin(start))

    def _cast(self) -> Expression | None:
        start = self.index
        mode: EvalMode = "ANSI" if self.conf.ansi else "LEGACY"
        if self.token.symbol == "TRY_CAST":
            mode = "TRY"
        self.advance(2)
        if self.token.symbol == ")":
            return None
        child = self.expression()
        if self.token.symbol in (")", ","):
            return None
        self.need("AS")
        kind = self.data_type()
        self.need(")")
        return Cast(child=child, type_=kind, mode=mode, origin=self.origin(start))

    def _struct(self) -> Expression:
        start = self.index
        self.advance()
        return self.function(start, "struct", *self.optional_list(self.named_expression))

    def _extract(self) -> Expression | None:
        start = self.index
        self.advance(2)
        if not self.token.is_name or self.peek().symbol != "FROM":
            return None
        unit = Literal(value=self.name(), type_=STRING)
        self.need("FROM")
        source = self.value()
        self.need(")")
        return self.function(start, "extract", unit, source)

    def _substring(self) -> Expression | None:
        """`SUBSTR(x FROM 2 FOR 3)`; with nothing but commas it is a call like any other."""
        start = self.index
        self.advance(2)
        if self.token.symbol == ")":
            return None
        arguments = [self.value()]
        in_words = self.take("FROM")
        if not in_words and not self.take(","):
            return None
        arguments.append(self.value())
        counted = self.take("FOR")
        if counted or self.take(","):
            arguments.append(self.value())
        if not in_words and not counted:
            return None
        self.need(")")
        return self.function(start, "substring", *arguments)

    def _trim(self) -> Expression | None:
        start = self.index
        self.advance(2)
        side = self.take_one(_TRIMS)
        characters = () if self.token.symbol == "FROM" else (self.value(),)
        if not self.take("FROM"):
            return None
        source = self.value()
        self.need(")")
        # As in `trim('x', text)`, the characters come first.
        return self.function(start, _TRIMS[side], *characters, source)

    def _worded(self) -> Expression | None:
        """`OVERLAY(a PLACING b FROM 2 FOR 3)` and the like: values with words between them."""
        name, word, rest, last = _WORDED[self.token.symbol]
        start = self.index
        self.advance(2)
        arguments = [self.value()]
        if not self.take(word):
            return None
        arguments.append(self.value())
        for needed in rest:
            self.need(needed)
            arguments.append(self.value())
        if last and self.take(last):
            arguments.append(self.value())
        self.need(")")
        return self.function(start, name, *arguments)

    def _unit_call(self) -> Expression | None:
        """`TIMESTAMPADD(DAY, 1, ts)`: the first argument is a bare unit.

        In `date_add(day, 1)` it is a column.
        """
        start = self.index
        unit = self.peek(2).symbol
        if unit not in _DATETIME_UNITS or self.peek(3).symbol != ",":
            return None
        name = "timestampadd" if self.token.symbol.endswith("ADD") else "timestampdiff"
        self.advance(4)
        arguments = self.listed(self.value)
        if len(arguments) != 2:
            return None
        self.need(")")
        return self.function(start, name, Literal(value=unit, type_=STRING), *arguments)


_UNIT_CALLS = (
    "TIMESTAMPADD", "DATEADD", "DATE_ADD", "TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF", "TIMEDIFF",
)  # fmt: skip
# The function, the word by which such a call is known, those that must follow, one that may.
_WORDED: dict[str, tuple[str, str, tuple[str, ...], str]] = {
    "OVERLAY": ("overlay", "PLACING", ("FROM",), "FOR"),
    "POSITION": ("locate", "IN", (), ""),
}
_KEYWORD_CALLS: dict[str, Callable[[CallParser], Expression | None]] = {
    "CAST": CallParser._cast,
    "TRY_CAST": CallParser._cast,
    "STRUCT": CallParser._struct,
    "EXTRACT": CallParser._extract,
    "SUBSTR": CallParser._substring,
    "SUBSTRING": CallParser._substring,
    "TRIM": CallParser._trim,
    **dict.fromkeys(_WORDED, CallParser._worded),
    **dict.fromkeys(_UNIT_CALLS, CallParser._unit_call),
}


def identifier(values: list[Expression]) -> tuple[str, ...] | None:
    """The parts of the name that `IDENTIFIER('a.b')` stands for."""
    match values:
        case [Literal(value=str(text))]:
            return tuple(part.strip("`") for part in text.split("."))
        case _:
            return None
