"""GROUP BY: keys, and the sets of CUBE, ROLLUP and GROUPING SETS."""

from __future__ import annotations

from itertools import product

from ..model.expressions.core import Alias, Expression
from ..model.frozen import dataclass
from .errors import named_key
from .primary import row_values
from .relations import RelationParser

Keys = tuple[Expression, ...]
Grouping = tuple[Keys, tuple[str, tuple[Keys, ...]] | None]
"""The keys, and for CUBE, ROLLUP and GROUPING SETS the word with the sets as written."""
_KEY_WORDS = ("WITH", "GROUPING")


@dataclass(frozen=True, kw_only=True)
class _Analytics:
    """`CUBE (a, b)`, `ROLLUP (a, b)` or `GROUPING SETS (...)`; the latter may hold others."""

    kind: str
    entries: tuple[Keys | _Analytics, ...]

    def sets(self) -> list[Keys]:
        """All grouping sets that it stands for."""
        if self.kind == "grouping sets":
            nested = (e.sets() if isinstance(e, _Analytics) else [e] for e in self.entries)
            return [one for sets in nested for one in sets]
        parts = [entry for entry in self.entries if not isinstance(entry, _Analytics)]
        if self.kind == "rollup":
            return [sum(parts[:size], ()) for size in range(len(parts), -1, -1)]
        return [
            sum((p for p, keep in zip(parts, chosen, strict=True) if keep), ())
            for chosen in product((True, False), repeat=len(parts))
        ]


class GroupingParser(RelationParser):
    """Reads GROUP BY clauses."""

    def grouping(self, *, named: bool = False) -> Grouping:
        """What stands behind GROUP BY; `named`: a key may have an alias, as in a pipe."""
        items = self.listed(self._named_item if named else self._item)
        keys = tuple(item for item in items if not isinstance(item, _Analytics))
        if len(keys) == len(items):
            return self._with_sets_of_keys(keys)
        if len(items) == 1 and isinstance(items[0], _Analytics):
            entries = items[0].entries
            sets = tuple(entry for entry in entries if not isinstance(entry, _Analytics))
            if len(sets) == len(entries):
                return _distinct(sets), (items[0].kind, sets)
        # Several of them multiply: every combination of their sets is a grouping set.
        choices = [item.sets() if isinstance(item, _Analytics) else [(item,)] for item in items]
        combined = tuple(sum(parts, ()) for parts in product(*choices))
        return _distinct(combined), ("grouping sets", combined)

    def _with_sets_of_keys(self, keys: Keys) -> Grouping:
        """`a, b WITH ROLLUP`, `a, b GROUPING SETS ((a), (b))`, or no more than keys."""
        for word in ("ROLLUP", "CUBE"):
            if self.take("WITH", word):
                sets: tuple[Keys, ...] = tuple((key,) for key in keys)
                return _distinct(sets), (word.lower(), sets)
        if self.take("GROUPING", "SETS"):
            sets = tuple(self.bracketed_list(self._set))
            return _distinct((keys, *sets)), ("grouping sets", sets)
        return keys, None

    def _item(self) -> Expression | _Analytics:
        item = self._named_item()
        if not isinstance(item, Alias):
            return item
        self.refuse(named_key(item.name, self.text))
        return item.child

    def _named_item(self) -> Expression | _Analytics:
        analytics = self._analytics()
        if analytics is not None:
            return analytics
        start = self.index
        key = self.expression()
        if self.take("AS") or (self.is_alias() and self.token.symbol not in _KEY_WORDS):
            return Alias(child=key, name=self.name(), origin=self.origin(start))
        return key

    def _analytics(self) -> _Analytics | None:
        kind = self.token.symbol
        if kind in ("CUBE", "ROLLUP") and self.peek().symbol == "(":
            self.advance()
            return _Analytics(kind=kind.lower(), entries=tuple(self.bracketed_list(self._set)))
        if self.ahead("GROUPING", "SETS", "("):
            self.advance(2)
            entries = tuple(self.bracketed_list(self._entry))
            return _Analytics(kind="grouping sets", entries=entries)
        return None

    def _entry(self) -> Keys | _Analytics:
        return self._analytics() or self._set()

    def _set(self) -> Keys:
        """`(a, b)`, `()` or one expression."""
        return () if self.take("(", ")") else row_values(self.expression())


def _distinct(sets: tuple[Keys, ...]) -> Keys:
    """The expressions of all sets, each once, in the order in which they first appear."""
    return tuple(dict.fromkeys(expression for one in sets for expression in one))
