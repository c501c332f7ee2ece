"""What changes a relation's rows or columns in FROM: TABLESAMPLE, PIVOT, UNPIVOT; and VALUES."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..model.errors import AnalysisError
from ..model.expressions.core import Alias, AttributeReference, Expression, Literal, Origin, lit
from ..model.expressions.unresolved import UnresolvedAttribute, UnresolvedFunction
from ..model.plans.logical import limited
from ..model.plans.partitions import Sample
from ..model.plans.pivot import UnresolvedPivot, UnresolvedUnpivot
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import LocalRelation
from .errors import fragment_error, refused_sample, unsupported
from .expressions import ExpressionParser


class TableClauseParser(ExpressionParser):
    """Reads the clauses behind a relation that make another relation of it."""

    # --------------------------------------------------------------------------------- TABLESAMPLE

    def sample(self, plan: LogicalPlan) -> LogicalPlan:
        """`TABLESAMPLE (10 PERCENT) REPEATABLE (5)`: a share of the rows, or the first so many."""
        start = self.index
        self.need("TABLESAMPLE", "(")
        share, rows = 1.0, None
        refusal: Callable[[Origin], AnalysisError] | None = None
        if self.take(")"):
            refusal = partial(fragment_error, "_LEGACY_ERROR_TEMP_0014")
        elif self.take("BUCKET"):
            share, refusal = self._bucket()
            self.need(")")
        else:
            first = self.index
            size = self.value()
            written = self.origin(first)
            if self.take("PERCENT"):
                share = self._size(size) / 100
            elif self.take("ROWS"):
                rows = lit(int(self._size(size)))
            else:
                text = self.text[written.start : written.stop + 1]
                refusal = partial(refused_sample, text)
            self.need(")")
        seed = self.bracketed(self.value) if self.take("REPEATABLE") else None
        origin = self.origin(start)
        if refusal is not None:
            self.refuse(refusal(origin))
        if rows is not None:
            return limited(plan, rows)
        return Sample(
            child=plan,
            lower=0.0,
            upper=share,
            seed=None if seed is None else int(self._size(seed)),
            origin=origin,
        )

    def _bucket(self) -> tuple[float, Callable[[Origin], AnalysisError] | None]:
        """The share that `1 OUT OF 4` asks for, and what Spark says to `ON` behind it."""
        bucket = self._size(self.value())
        self.need("OUT", "OF")
        buckets = self._size(self.value())
        share = bucket / buckets if buckets else 1.0
        if not self.take("ON"):
            return share, None
        self.qualified_name()
        what = "function" if self.take("(", ")") else "colname"
        return share, partial(
            fragment_error, "_LEGACY_ERROR_TEMP_0015", msg=f"BUCKET x OUT OF y ON {what}"
        )

    def _size(self, size: Expression) -> float:
        if isinstance(size, Literal) and size.value is not None:
            return float(str(size.value))
        self.refuse(unsupported("A size of a sample that is no number", size.origin))
        return 1.0

    # ------------------------------------------------------------------------------------- PIVOT

    def pivot(self, plan: LogicalPlan) -> LogicalPlan:
        """`PIVOT (sum(a) AS s FOR b IN (1 AS one, 2))`."""
        start = self.index
        self.need("PIVOT", "(")
        aggregates = self.listed(self._pivoted)
        self.need("FOR")
        names = self.names()
        self.need("IN")
        values = self.bracketed_list(self.named_expression)
        self.need(")")
        origin = self.origin(start)
        columns = [UnresolvedAttribute(parts=(name,), origin=origin) for name in names]
        pairs = tuple(e for column in columns for e in (lit(column.parts[0]), column))
        whole = UnresolvedFunction(name="named_struct", arguments=pairs, origin=origin)
        return UnresolvedPivot(
            child=plan,
            column=whole if len(columns) > 1 else columns[0],
            values=tuple(values),
            aggregates=tuple(aggregates),
            origin=origin,
        )

    def _pivoted(self) -> Expression:
        """An aggregate, with its name or with FOR behind it."""
        start = self.index
        node = self.expression()
        if self.take("AS") or (self.is_alias() and not self.ahead("FOR")):
            return Alias(child=node, name=self.name(), origin=self.origin(start))
        return node

    # ----------------------------------------------------------------------------------- UNPIVOT

    def unpivot(self, start: int, plan: LogicalPlan) -> LogicalPlan:
        """`UNPIVOT (value FOR name IN (a, b AS c))`; `start` is where the relation begins."""
        self.need("UNPIVOT")
        include_nulls = self.take("INCLUDE", "NULLS")
        if not include_nulls:
            self.take("EXCLUDE", "NULLS")
        self.need("(")
        value_names = self.names()
        self.need("FOR")
        name_column = self.name()
        self.need("IN")
        columns = self.bracketed_list(self._unpivoted)
        self.need(")")
        return UnresolvedUnpivot(
            child=plan,
            columns=tuple(column for column, _ in columns),
            names=tuple(name for _, name in columns),
            value_names=tuple(value_names),
            name_column=name_column,
            include_nulls=include_nulls,
            origin=self.origin(start),
        )

    def _unpivoted(self) -> tuple[tuple[Expression, ...], str | None]:
        """A column, or several in brackets, with the name that stands for them."""
        if self.token.symbol == "(":
            columns = self.bracketed_list(self._column)
        else:
            columns = [self._column()]
        named = self.take("AS") or self.is_alias()
        return tuple(columns), self.name() if named else None

    def _column(self) -> Expression:
        start = self.index
        return UnresolvedAttribute(parts=self.qualified_name(), origin=self.origin(start))


def local_relation(
    names: tuple[str, ...], rows: tuple[tuple[Expression, ...], ...]
) -> LogicalPlan | None:
    """Rows of literals whose types agree column by column; None where analysis has to look."""
    if any(len(row) != len(names) for row in rows):
        return None
    literals = [tuple(v for v in row if isinstance(v, Literal)) for row in rows]
    if any(len(row) != len(names) for row in literals):
        return None
    attributes = []
    for index, name in enumerate(names):
        column = [row[index] for row in literals]
        kinds = {value.data_type for value in column if value.value is not None}
        if len(kinds) != 1:
            return None
        nullable = any(value.value is None for value in column)
        kind = kinds.pop()
        attributes.append(AttributeReference(name=name, type_=kind, is_nullable=nullable))
    types = [attribute.data_type for attribute in attributes]
    typed = tuple(
        tuple(Literal(value=v.value, type_=kind) for v, kind in zip(row, types, strict=True))
        for row in literals
    )
    return LocalRelation(attributes=tuple(attributes), rows=typed)
