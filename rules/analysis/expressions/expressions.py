"""Expressions: names to columns, calls to functions, with the casts that types need.

One bottom-up pass. What cannot be resolved yet (a name that a later step may know, a time window)
stays as it is; running the pass again over the result does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....planner.model import registry
from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    LambdaFunction,
    lit,
)
from ....planner.model.expressions.subqueries import InSubquery, OuterReference, SubqueryExpression
from ....planner.model.expressions.unresolved import (
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedExtractValue,
    UnresolvedFunction,
    UnresolvedStar,
)
from ....planner.model.expressions.windows import (
    SessionWindow,
    TimeWindow,
    WindowExpression,
    WindowTime,
)
from ....planner.model.functions.conditional import coerce_case_when
from ....planner.model.schemas.casts import can_cast, instead_of_cast
from ....planner.model.schemas.types import ArrayType, MapType, StructType
from ....planner.model.text.quoting import in_quotes, to_sql_id, to_sql_type
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ..context import Context
from ..failures import (
    Invalid,
    invalid,
    located,
    mismatch,
    unresolved_routine,
    unsupported_syntax,
)
from ..names.extraction import extract
from ..names.names import with_positions
from ..subqueries.subqueries import coerce_in_subquery
from ..windows.frames import with_typed_bounds
from ..windows.over import with_order
from ..windows.window_functions import (
    WINDOW_FUNCTIONS,
    check_session_window,
    check_time_window,
    check_window_time,
)
from .functions import (
    check_aggregate_filter,
    is_higher_order,
    misplaced,
    ordered_call,
    resolve_higher_order,
)


class Resolver:
    """Resolves expressions over the columns of one operator's input.

    Args:
        columns: what names can mean.
        context: what holds for the whole query.
        ambiguous: whether a name that several columns have is an error; if not, it is left
            unresolved, as in HAVING and ORDER BY, where another column may be meant.
        fields: whether a name whose column lacks the field is an error; if not, it is left
            unresolved, as in ORDER BY and where HAVING looks below the select list.
    """

    def __init__(
        self,
        columns: tuple[AttributeReference, ...],
        context: Context,
        *,
        ambiguous: bool = True,
        fields: bool = True,
    ) -> None:
        self.scope = scope = context.scope(columns)
        self.context = context
        self._fields = fields
        self._find = scope.find if ambiguous else scope.find_one

    def resolve(self, expression: Expression) -> Expression:
        """The expression with all that can be resolved over the scope.

        Raises:
            AnalysisError: an ambiguous name, an unknown function or field, a wrong number of
                arguments: what Spark refuses at once.
        """
        match expression:
            case UnresolvedAttribute():
                return self.column(expression.parts, expression) or expression
            case UnresolvedFunction():
                return self._function(expression)
            case UnresolvedAlias(child=LambdaFunction()) | Alias(child=LambdaFunction()):
                raise misplaced("Alias", expression.child.origin)
            case UnresolvedAlias(child=child):
                return self._alias(expression, child)
            case Invalid():
                return expression
            case Alias(child=child):
                new = self.resolve(child)
                return expression if new is child else replace(expression, child=new)
            case SubqueryExpression():
                return self._subquery(expression)
            case Call() | AggregateExpression() if expression.resolved:
                return expression
            case _:
                if not expression.child_fields:
                    return expression
                return self._over_children(expression.map_children(self.resolve))

    def column(self, parts: tuple[str, ...], at: Expression) -> Expression | None:
        """The column or field that a name means, if it means one."""
        try:
            found = self._find(parts)
        except AnalysisError as error:
            raise located(error, at.origin) from None
        if found is None:
            return self._outer(parts, at)
        result: Expression = found[0] if at.origin is None else replace(found[0], origin=at.origin)
        return self._field(result, found[1], at)

    def _outer(self, parts: tuple[str, ...], at: Expression) -> Expression | None:
        """The column or field of the query around this one that a name means, if any."""
        found = None if self.context.outer is None else self.context.outer.find(parts)
        if found is None:
            return self._literal_function(parts)
        result: Expression = OuterReference(column=found[0], origin=at.origin)
        return self._field(result, found[1], at)

    def _field(self, column: Expression, names: Sequence[str], at: Expression) -> Expression | None:
        """What lies in a column under some names, one in the other."""
        for name in names:
            try:
                column = extract(column, lit(name), self.context, at.origin)
            except AnalysisError:
                if self._fields:
                    raise
                return None
        return column

    def _literal_function(self, parts: tuple[str, ...]) -> Expression | None:
        """`current_date` and the like, which need no parentheses where no column is called so."""
        name = parts[0].lower()
        spec = registry.find(name) if len(parts) == 1 else None
        if spec is None or not spec.literal or spec.name != name:
            return None
        return self.context.call(spec.one_name)

    def _subquery(self, subquery: SubqueryExpression) -> Expression:
        analyze = self.context.analyze_subquery
        if subquery.plan.resolved or analyze is None:
            return subquery
        return analyze(subquery, self.scope)

    def _alias(self, alias: UnresolvedAlias, child: Expression) -> Expression:
        # A field takes the last part of the name as written, not its printed form.
        if isinstance(child, UnresolvedAttribute):
            found = self.column(child.parts, child)
            if found is None:
                return alias
            if len(child.parts) > 1 and not hasattr(found, "expr_id"):
                return Alias(child=found, name=child.parts[-1], origin=child.origin)
            return UnresolvedAlias(child=found, origin=alias.origin)
        new = self.resolve(child)
        return alias if new is child else replace(alias, child=new)

    def _over_children(self, expression: Expression) -> Expression:
        match expression:
            case UnresolvedExtractValue(child=base, extraction=key) if base.resolved:
                if key.resolved:
                    found = extract(base, key, self.context, None)
                    element = isinstance(found, Call) and expression.origin is not None
                    return replace(found, origin=expression.origin) if element else found
            case WindowExpression() if expression.resolved:
                return with_order(with_typed_bounds(expression, self.context.conf))
            case Cast() if expression.child.resolved:
                return self._cast(expression)
            case CaseWhen() if expression.resolved:
                return self._case(expression)
            case TimeWindow() if expression.time.resolved:
                return check_time_window(expression, self.context)
            case WindowTime() if expression.window.resolved:
                return check_window_time(expression)
            case InSubquery() if expression.resolved:
                return coerce_in_subquery(expression, self.context)
            case SessionWindow() if expression.time.resolved and expression.gap.resolved:
                return check_session_window(expression, self.context)
        return expression

    def _cast(self, cast: Cast) -> Expression:
        if cast.implicit and can_cast(cast.child.data_type, cast.type_, cast.mode):
            return cast
        mode = "TRY" if cast.mode == "TRY" else self.context.mode
        if cast.mode != mode or cast.time_zone is None:
            cast = replace(cast, mode=mode, time_zone=self.context.time_zone)
        source, target = cast.child.data_type, cast.type_
        if can_cast(source, target, mode):
            return cast
        plain = Cast(child=cast.child, type_=target, mode=mode, origin=cast.origin)
        return invalid(plain, _bad_cast(cast))

    def _case(self, case: CaseWhen) -> Expression:
        try:
            return coerce_case_when(case, self.context.conf)
        except AnalysisError as error:
            return invalid(case, located(error, case.origin))

    # ------------------------------------------------------------------------------- functions

    def _function(self, function: UnresolvedFunction) -> Expression:
        name = function.name.lower()
        if name in WINDOW_FUNCTIONS:
            if function.distinct or function.filter is not None:
                syntax = "DISTINCT" if function.distinct else "FILTER CLAUSE"
                raise unsupported_syntax(name.replace("_", ""), syntax, function.origin)
            function = self._with_arguments(function)
            if not all(a.resolved or isinstance(a, WindowTime) for a in function.arguments):
                return function
            return self._over_children(WINDOW_FUNCTIONS[name](function, self.context))
        spec = registry.find(name)
        if spec is None:
            raise unresolved_routine(function.name, function.origin)
        function = self._without_stars(with_positions(function))
        if is_higher_order(function):
            return resolve_higher_order(function, self, self.context)
        function = self._with_arguments(function)
        if not all(child.resolved for child in function.children):
            return function
        return self._resolved_call(function, spec)

    def _without_stars(self, function: UnresolvedFunction) -> UnresolvedFunction:
        if not any(isinstance(a, UnresolvedStar) for a in function.arguments):
            return function
        from ..names.stars import expand_star, refuse_table_in_count

        if function.name.lower() == "count":
            refuse_table_in_count(function.arguments, self.scope)
        spread: list[Expression] = []
        for argument in function.arguments:
            if isinstance(argument, UnresolvedStar):
                spread.extend(expand_star(argument, self))
            else:
                spread.append(argument)
        return replace(function, arguments=tuple(spread))

    def _with_arguments(self, function: UnresolvedFunction) -> UnresolvedFunction:
        function = self._without_stars(function)
        return replace(
            function,
            arguments=tuple(self.resolve(a) for a in function.arguments),
            within=tuple(self.resolve(o) for o in function.within),
            filter=None if function.filter is None else self.resolve(function.filter),
        )

    def _resolved_call(
        self, function: UnresolvedFunction, spec: registry.FunctionSpec
    ) -> Expression:
        if function.ignore_nulls and not spec.null_treatment:
            raise unsupported_syntax(spec.name, "IGNORE NULLS", function.origin)
        if spec.kind != "aggregate" and (function.distinct or function.filter is not None):
            syntax = "DISTINCT" if function.distinct else "FILTER CLAUSE"
            raise unsupported_syntax(spec.name, syntax, function.origin)
        given = function.ignore_nulls is not None and spec.null_treatment
        ordered = ordered_call(function, spec.name, self.context)
        name = function.name
        if given and spec.same_as is not None:
            # IGNORE NULLS and RESPECT NULLS make Spark forget by which name it was called.
            name = spec.same_as
        call = ordered or self.context.call(
            name,
            *function.arguments,
            origin=function.origin,
            options=(function.ignore_nulls,) if given else (),
        )
        if spec.kind != "aggregate" or not isinstance(call, Call):
            return self._cast(call) if isinstance(call, Cast) else call
        check_aggregate_filter(function)
        return AggregateExpression(
            function=call,
            distinct=function.distinct,
            filter=function.filter,
            origin=function.origin,
        )


def _bad_cast(cast: Cast) -> AnalysisError:
    source, target = cast.child.data_type, cast.type_
    nested = isinstance(target, ArrayType | MapType | StructType)
    sql = pretty(cast.child if nested or cast.implicit else cast)
    function = None if cast.mode == "LEGACY" else instead_of_cast(source, target)
    types = {"srcType": to_sql_type(source), "targetType": to_sql_type(target)}
    if function is not None:
        return mismatch(
            "CAST_WITH_FUNC_SUGGESTION",
            sql,
            cast.origin,
            functionNames=to_sql_id(function),
            **types,
        )
    if cast.mode == "ANSI" and can_cast(source, target, "LEGACY"):
        return mismatch(
            "CAST_WITH_CONF_SUGGESTION",
            sql,
            cast.origin,
            config=in_quotes("spark.sql.ansi.enabled"),
            configVal="'false'",
            **types,
        )
    return mismatch("CAST_WITHOUT_SUGGESTION", sql, cast.origin, **types)
