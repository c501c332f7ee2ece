"""From sqlglot's expressions to ours: unresolved, under Spark's names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from ..model.errors import AnalysisError
from ..model.expressions import core as model
from ..model.expressions import unresolved
from ..model.expressions.core import (
    Alias,
    CaseWhen,
    Cast,
    Expression,
    LambdaFunction,
    Literal,
    Origin,
    SortOrder,
)
from ..model.expressions.unresolved import (
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedExtractValue,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
    UnresolvedStar,
)
from ..model.expressions.windows import WindowExpression
from ..model.schemas.ddl import parse_type
from ..model.schemas.types import STRING, DataType
from ..model.tree import replace
from .context import (
    bad_escape,
    fragment_error,
    misfit_marked,
    missing_window,
    no_patterns,
    origin_at,
    unsupported,
    whole_text_error,
)
from .frames import read_frame
from .literal_reader import Node
from .nodes import IntervalLiteral, MultiAlias, TypedLiteral
from .operators import BINARY, TRIMS
from .rows import as_variable, field_name, identifier, unnamed
from .subqueries import SubqueryReader

# Spark tells no place.
_WITHOUT_PLACE = ("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "UNSUPPORTED_TIME_TYPE")


class ExpressionReader(SubqueryReader):
    """Turns one query's expressions into the planner's."""

    def read(self, node: Node) -> Expression:
        """One expression."""
        name = BINARY.get(type(node))
        if name is not None:
            return self._call(name, node, node.this, node.expression)
        reader = _READERS.get(type(node))
        if reader is None:
            raise unsupported(f"The expression {type(node).__name__}", self.origin(node))
        return reader(self, node)

    def read_all(self, nodes: list[Node]) -> tuple[Expression, ...]:
        """Several expressions."""
        return tuple(self.read(node) for node in nodes)

    def named(self, node: Node) -> Expression:
        """An entry of a select list."""
        expression = self.read(node)
        if isinstance(
            expression, Alias | UnresolvedAttribute | UnresolvedStar | unresolved.MultiAlias
        ):
            return expression
        return UnresolvedAlias(child=expression, origin=expression.origin)

    def _call(self, name: str, node: Node, *arguments: Node) -> UnresolvedFunction:
        values = self.read_all(list(arguments))
        return UnresolvedFunction(name=name, arguments=values, origin=self.origin(node))

    def _not(self, node: Node, child: Expression) -> UnresolvedFunction:
        return UnresolvedFunction(name="not", arguments=(child,), origin=self.origin(node))

    # ------------------------------------------------------------------------------------ names

    def column(self, node: Node) -> Expression:
        if isinstance(node.this, exp.Star):
            qualifier = tuple(part.name for part in node.parts[:-1])
            return replace(self._star(node.this, qualifier), origin=self.origin(node))
        return UnresolvedAttribute(
            parts=tuple(part.name for part in node.parts), origin=self.origin(node)
        )

    def dot(self, node: Node) -> Expression:
        base = self.read(node.this)
        if isinstance(node.expression, exp.Star):
            parts = base.parts if isinstance(base, UnresolvedAttribute) else ()
            return self._star(node.expression, parts)
        if isinstance(base, UnresolvedAttribute):
            parts = (*base.parts, node.expression.name)
            return UnresolvedAttribute(parts=parts, origin=self.origin(node))
        field = Literal(value=node.expression.name, type_=STRING)
        return UnresolvedExtractValue(child=base, extraction=field, origin=self.origin(node))

    def star(self, node: Node) -> Expression:
        return self._star(node, ())

    def _star(self, node: Node, target: tuple[str, ...]) -> UnresolvedStar:
        excluded = node.args.get("except_") or []
        return UnresolvedStar(
            target=target,
            except_names=tuple(tuple(p.name for p in name.expressions) for name in excluded),
            origin=self.origin(node),
        )

    def alias(self, node: Node) -> Expression:
        child = self.read(node.this)
        return Alias(child=child, name=node.args["alias"].name, origin=self.origin(node))

    def multi_alias(self, node: Node) -> Expression:
        names = tuple(name.name for name in node.args["names"])
        return unresolved.MultiAlias(
            child=self.read(node.this), names=names, origin=self.origin(node)
        )

    def bracket(self, node: Node) -> Expression:
        child, index = self.read(node.this), self.read(node.expressions[0])
        return UnresolvedExtractValue(child=child, extraction=index, origin=self.origin(node))

    # ------------------------------------------------------------------------------- predicates

    def negation(self, node: Node) -> Expression:
        inner = node.this
        if isinstance(inner, exp.Like | exp.ILike) and inner.args.get("quantifier"):
            return self._quantified_like(inner, negated=True)
        return self._not(node, self.read(inner))

    def unequal(self, node: Node) -> Expression:
        return self._not(node, self._call("=", node, node.this, node.expression))

    def distinct_from(self, node: Node) -> Expression:
        return self._not(node, self._call("<=>", node, node.this, node.expression))

    def is_(self, node: Node) -> Expression:
        negated = bool(node.args.get("negate"))
        if isinstance(node.expression, exp.Null):
            return self._call("isnotnull" if negated else "isnull", node, node.this)
        equal = self._call("<=>", node, node.this, node.expression)
        return self._not(node, equal) if negated else equal

    def between(self, node: Node) -> Expression:
        return self._call("between", node, node.this, node.args["low"], node.args["high"])

    def in_(self, node: Node) -> Expression:
        if node.args.get("query"):
            return self.in_query(node)
        if not node.expressions:
            raise fragment_error(
                "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE",
                "[INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE] Invalid SQL syntax: IN predicate requires"
                " at least one value. Empty IN clauses like 'IN ()' are not allowed. Consider using"
                " 'WHERE FALSE' if you need an always-false condition, or provide at least one"
                " value in the IN list. SQLSTATE: 42000",
                self.origin(node),
                hint="Write at least one value.",
            )
        return self._call("in", node, node.this, *node.expressions)

    def like(self, node: Node) -> Expression:
        if node.args.get("quantifier"):
            return self._quantified_like(node, negated=False)
        name = "like" if isinstance(node, exp.Like) else "ilike"
        return self._call(name, node, node.this, node.expression)

    def _quantified_like(self, node: Node, negated: bool) -> Expression:
        """LIKE ANY and LIKE ALL: functions of the text and all patterns."""
        kind = "likeall" if node.args["quantifier"] == "ALL" else "likeany"
        text, patterns = self.read(node.this), self.read_all(node.expression.expressions)
        if not patterns:
            raise no_patterns(self.origin(node.this), self.origin(node))
        if isinstance(node, exp.ILike):
            text, *patterns_ = (
                UnresolvedFunction(name="lower", arguments=(one,)) for one in (text, *patterns)
            )
            patterns = tuple(patterns_)
        name = f"not{kind}" if negated else kind
        return UnresolvedFunction(name=name, arguments=(text, *patterns), origin=self.origin(node))

    def escape(self, node: Node) -> Expression:
        like = node.this
        name = "like" if isinstance(like, exp.Like) else "ilike"
        character = self.read(node.expression)
        if isinstance(character, Literal) and len(str(character.value)) != 1:
            raise bad_escape(str(character.value), self.origin(like.this), self.origin(node))
        return self._call(name, node, like.this, like.expression, node.expression)

    # ------------------------------------------------------------------------------------ calls

    def function(self, node: Node) -> Expression:
        arguments, distinct = node.expressions, False
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            arguments, distinct = arguments[0].expressions, True
        name = node.this
        values = self.read_all(arguments)
        if name.upper() == "IDENTIFIER" and (named := identifier(values)):
            return UnresolvedAttribute(parts=named, origin=self.origin(node))
        # count(*) counts rows: Spark's parser writes count(1).
        counts_rows = name.lower() == "count" and not distinct and len(values) == 1
        if counts_rows and isinstance(values[0], UnresolvedStar) and not values[0].target:
            values = (model.lit(1),)
        return UnresolvedFunction(
            name=name, arguments=values, distinct=distinct, origin=self.origin(node)
        )

    def _inner_function(self, node: Node) -> UnresolvedFunction:
        inner = self.read(node.this)
        if not isinstance(inner, UnresolvedFunction):
            raise unsupported("A clause behind this expression", self.origin(node))
        return inner

    def filtered(self, node: Node) -> Expression:
        inner = self._inner_function(node)
        return replace(inner, filter=self.read(node.expression.this))

    def nulls(self, node: Node) -> Expression:
        ignore = isinstance(node, exp.IgnoreNulls)
        return replace(self._inner_function(node), ignore_nulls=ignore)

    def within_group(self, node: Node) -> Expression:
        order = tuple(self.sort_order(item) for item in node.expression.expressions)
        return replace(self._inner_function(node), within=order)

    def keyword_argument(self, node: Node) -> Expression:
        value = self.read(node.expression)
        return unresolved.NamedArgument(name=node.this.name, value=value, origin=self.origin(node))

    def window(self, node: Node) -> Expression:
        function = self.read(node.this)
        definition = node
        name = node.args.get("alias")
        if name is not None:
            definition = (self.windows or {}).get(name.name.lower())
            if definition is None:
                raise missing_window(name.name, self.origin(node) if self.windows is None else None)
        order = definition.args.get("order")
        frame, bounds = read_frame(definition.args.get("spec"), self.read)
        return WindowExpression(
            function=function,
            partition_by=self.read_all(definition.args.get("partition_by") or []),
            order_by=tuple(self.sort_order(o) for o in order.expressions) if order else (),
            frame=frame,
            bounds=bounds,
            origin=self.origin(node),
        )

    def sort_order(self, node: Node) -> SortOrder:
        """An entry of ORDER BY."""
        return SortOrder(
            child=self.read(node.this),
            ascending=not node.args.get("desc"),
            nulls_first=bool(node.args.get("nulls_first")),
            origin=self.origin(node),
        )

    def lambda_(self, node: Node) -> Expression:
        body = self.read(node.this).transform_up(as_variable)
        parameters = tuple(UnresolvedLambdaVariable(parts=(n.name,)) for n in node.expressions)
        return LambdaFunction(body=body, parameters=parameters, origin=self.origin(node))

    def row(self, node: Node) -> Expression:
        fields: list[Expression] = []
        for position, value in enumerate(self.read_all(node.expressions), start=1):
            fields += [model.lit(field_name(value, position)), unnamed(value)]
        return UnresolvedFunction(
            name="named_struct", arguments=tuple(fields), origin=self.origin(node)
        )

    def paren(self, node: Node) -> Expression:
        return self.read(node.this)

    def case(self, node: Node) -> Expression:
        conditions = [branch.this for branch in node.args["ifs"]]
        if node.this is not None:
            tests: tuple[Expression, ...] = tuple(
                self._call("=", node, node.this, value) for value in conditions
            )
        else:
            tests = self.read_all(conditions)
        default = node.args.get("default")
        return CaseWhen(
            conditions=tests,
            values=self.read_all([branch.args["true"] for branch in node.args["ifs"]]),
            otherwise=None if default is None else self.read(default),
            origin=self.origin(node),
        )

    def cast(self, node: Node) -> Expression:
        mode: model.EvalMode = "ANSI" if self.conf.ansi else "LEGACY"
        if isinstance(node, exp.TryCast):
            mode = "TRY"
        child, type_ = self.read(node.this), self.data_type(node.args["to"])
        return Cast(child=child, type_=type_, mode=mode, origin=self.origin(node))

    def data_type(self, node: Node) -> DataType:
        """A type as written.

        Raises:
            AnalysisError: Spark has no such type.
        """
        try:
            return parse_type(node.args["kind"])
        except AnalysisError as error:
            if error.condition in _WITHOUT_PLACE:
                raise
            if error.condition == "DECIMAL_SCALE_EXCEEDS_PRECISION":
                raise whole_text_error(error, self.text) from None
            raise self._placed(error, self.origin(node)) from None

    def _placed(self, error: AnalysisError, origin: Origin) -> AnalysisError:
        """An error of the type reader, which saw the type alone, in the whole text."""
        message = error.message.split(" (line ")[0]
        place = re.search(r"\(line 1, pos (\d+)\)", error.message)
        start = origin.start + int(place[1]) if place else origin.start
        if error.condition == "PARSE_SYNTAX_ERROR":
            message = f"{message} {misfit_marked(self.text, start)}"
            return AnalysisError(error.condition, message, hint=error.hint)
        word = re.search(r'data type "(\w+)"', message)
        if place and word:
            origin = origin_at(self.text, start, start + len(word[1]) - 1)
        return fragment_error(error.condition or "", message, origin, hint=error.hint)

    def extract(self, node: Node) -> Expression:
        arguments = (Literal(value=node.this.name, type_=STRING), self.read(node.expression))
        return UnresolvedFunction(name="extract", arguments=arguments, origin=self.origin(node))

    def trim(self, node: Node) -> Expression:
        name = TRIMS[node.args.get("position") or ""]
        characters = node.args.get("expression")
        if characters is None:
            return self._call(name, node, node.this)
        # As in `trim('x', text)`, the characters come first.
        return self._call(name, node, characters, node.this)

    def collate(self, node: Node) -> Expression:
        raise unsupported("COLLATE", self.origin(node))


_READERS: dict[Any, Callable[[ExpressionReader, Node], Expression]] = {
    exp.Column: ExpressionReader.column,
    exp.Dot: ExpressionReader.dot,
    exp.Star: ExpressionReader.star,
    exp.Alias: ExpressionReader.alias,
    MultiAlias: ExpressionReader.multi_alias,
    exp.Bracket: ExpressionReader.bracket,
    exp.Literal: ExpressionReader.literal,
    TypedLiteral: ExpressionReader.typed,
    IntervalLiteral: ExpressionReader.interval,
    exp.Boolean: ExpressionReader.boolean,
    exp.Null: ExpressionReader.null,
    exp.Placeholder: ExpressionReader.parameter,
    exp.Not: ExpressionReader.negation,
    exp.NEQ: ExpressionReader.unequal,
    exp.NullSafeNEQ: ExpressionReader.distinct_from,
    exp.Is: ExpressionReader.is_,
    exp.Between: ExpressionReader.between,
    exp.In: ExpressionReader.in_,
    exp.Like: ExpressionReader.like,
    exp.ILike: ExpressionReader.like,
    exp.Escape: ExpressionReader.escape,
    exp.Subquery: ExpressionReader.subquery,
    exp.Exists: ExpressionReader.exists,
    exp.Anonymous: ExpressionReader.function,
    exp.Filter: ExpressionReader.filtered,
    exp.IgnoreNulls: ExpressionReader.nulls,
    exp.RespectNulls: ExpressionReader.nulls,
    exp.WithinGroup: ExpressionReader.within_group,
    exp.Kwarg: ExpressionReader.keyword_argument,
    exp.Window: ExpressionReader.window,
    exp.Lambda: ExpressionReader.lambda_,
    exp.Tuple: ExpressionReader.row,
    exp.Paren: ExpressionReader.paren,
    exp.Case: ExpressionReader.case,
    exp.Cast: ExpressionReader.cast,
    exp.TryCast: ExpressionReader.cast,
    exp.Extract: ExpressionReader.extract,
    exp.Trim: ExpressionReader.trim,
    exp.Collate: ExpressionReader.collate,
}
