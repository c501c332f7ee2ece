"""From Spark Connect's expressions to ours: unresolved, under Spark's names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ..model.expressions.core import (
    Alias,
    AttributeReference,
    CaseWhen,
    Cast,
    EvalMode,
    Expression,
    LambdaFunction,
    Literal,
    Metadata,
    Origin,
    SortOrder,
    lit,
)
from ..model.expressions.subqueries import Exists, InSubquery, ListQuery, ScalarSubquery
from ..model.expressions.unresolved import (
    MultiAlias,
    UnresolvedAttribute,
    UnresolvedExtractValue,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
    UnresolvedStar,
    select_entry,
)
from ..model.expressions.windows import Bound, WindowExpression, WindowFrame
from ..model.schemas.types import StructType
from ..model.tree import replace
from ..sql import parse_expression
from .failures import unsupported
from .literals import literal_of
from .names import name_parts
from .places import Message, origin_of
from .python_functions import VECTOR_FUNCTIONS, call_of, scala_call, vector_call
from .types import from_proto, in_sql, read_type

if TYPE_CHECKING:
    from .session import PlannerSession

_MODES: dict[int, EvalMode] = {
    proto.Expression.Cast.EVAL_MODE_LEGACY: "LEGACY",
    proto.Expression.Cast.EVAL_MODE_ANSI: "ANSI",
    proto.Expression.Cast.EVAL_MODE_TRY: "TRY",
}
# The client gives these a random seed behind their arguments.
_SEEDED = {"uuid": 0, "shuffle": 1}
# `2 * column`: Spark's own client calls the column's method, whose operand then comes second.
_REFLECTED = re.compile(r'"?__r(add|mul)__\b')
# What the client calls otherwise than Spark's parser does.
_OPERATORS = {"==": "=", "!=": "!=", "&&": "and", "||": "or"}
_WITH_SCHEMA = ("from_json", "from_csv", "from_xml")
# What the messages call it.
_UNSUPPORTED = {
    "unresolved_regex": "colRegex",
    "typed_aggregate_expression": "An aggregator written in Scala",
    "direct_shuffle_partition_id": "partition_id of repartitionById",
    "merge_action": "MERGE",
    None: "The expression without a kind",
}


class ExpressionReader:
    """Turns the expressions of one session's plans into the planner's."""

    def __init__(self, session: PlannerSession) -> None:
        self.session = session

    def read(self, message: Message) -> Expression:
        """One expression.

        Raises:
            AnalysisError: stateplan cannot plan it, or SQL text in it cannot be read.
        """
        kind = message.WhichOneof("expr_type")
        reader = _READERS.get(kind)
        if reader is None:
            what = _UNSUPPORTED.get(kind, f"The expression '{kind}'")
            raise unsupported(what, origin_of(message))
        return reader(self, getattr(message, kind), origin_of(message))

    def read_all(self, messages: Iterable[Message]) -> tuple[Expression, ...]:
        """Several expressions."""
        return tuple(self.read(message) for message in messages)

    def named(self, message: Message) -> Expression:
        """An entry of a select list."""
        if message.WhichOneof("expr_type") == "unresolved_attribute":
            reference = message.unresolved_attribute
            if reference.HasField("plan_id"):
                return self.session.column(
                    reference.plan_id,
                    name_parts(reference.unparsed_identifier),
                    origin_of(message),
                    named=True,
                )
        return as_named(self.read(message))

    def named_all(self, messages: Iterable[Message]) -> tuple[Expression, ...]:
        """The entries of a select list."""
        return tuple(self.named(message) for message in messages)

    # ------------------------------------------------------------------------------------- leaves

    def attribute(self, message: Message, origin: Origin | None) -> Expression:
        parts = name_parts(message.unparsed_identifier)
        if parts[-1] == "*" and not message.unparsed_identifier.endswith("`"):
            return UnresolvedStar(target=parts[:-1], origin=origin)
        if message.HasField("plan_id"):
            return self.session.column(message.plan_id, parts, origin)
        return UnresolvedAttribute(parts=parts, origin=origin)

    def star(self, message: Message, origin: Origin | None) -> Expression:
        target: tuple[str, ...] = ()
        if message.HasField("unparsed_target"):
            target = name_parts(message.unparsed_target.removesuffix(".*"))
        given: tuple[Expression, ...] = ()
        if message.HasField("plan_id") and not target:
            given = self.session.columns(message.plan_id, "*")
        return UnresolvedStar(target=target, given=given, origin=origin)

    def text(self, message: Message, origin: Origin | None) -> Expression:
        """`F.expr`, `selectExpr`, a filter in SQL: a piece of SQL with positions of its own."""
        parsed = parse_expression(message.expression, self.session.conf)
        return parsed.transform_up(self.session.called) if self.session.named_functions else parsed

    def variable(self, message: Message, origin: Origin | None) -> Expression:
        return UnresolvedLambdaVariable(parts=tuple(message.name_parts), origin=origin)

    def _schema(self, argument: Expression) -> Expression:
        """A schema that the client sends as JSON (a StructType in the code) as SQL has it."""
        if not (isinstance(argument, Literal) and isinstance(argument.value, str)):
            return argument
        if not argument.value.lstrip().startswith("{"):
            return argument
        kind = read_type(argument.value)
        if isinstance(kind, StructType):
            kind = self.session.guesses.same_schema(kind)
        text = in_sql(kind)
        return argument if text is None else replace(argument, value=text)

    # -------------------------------------------------------------------------------------- calls

    def function(self, message: Message, origin: Origin | None) -> Expression:
        name = message.function_name
        arguments = self.read_all(message.arguments)
        match name, arguments:
            case "mode", (value, Literal(value=False)):
                arguments = (value,)  # as Spark's own function: not deterministic
        if name in _WITH_SCHEMA and len(arguments) > 1:
            arguments = (arguments[0], self._schema(arguments[1]), *arguments[2:])
        if name == "when":
            return _case(arguments, origin)
        if name in VECTOR_FUNCTIONS and self.session.scripted:
            return vector_call(name, arguments, origin)
        if origin is not None and _REFLECTED.match(origin.context):
            arguments = arguments[::-1]
        if name in _SEEDED:
            arguments = arguments[: _SEEDED[name]]
        # count("*") counts rows: Spark's own functions make it count(1).
        if name == "count" and not message.is_distinct and len(arguments) == 1:
            only = arguments[0]
            if isinstance(only, UnresolvedStar) and not only.target:
                arguments = (lit(1),)
        return self.session.call(
            UnresolvedFunction(
                name=_OPERATORS.get(name, name),
                arguments=arguments,
                distinct=message.is_distinct,
                origin=origin,
            )
        )

    def call_function(self, message: Message, origin: Origin | None) -> Expression:
        """`F.call_function`: a function by the name that SQL has for it."""
        arguments = self.read_all(message.arguments)
        return self.session.call(
            UnresolvedFunction(name=message.function_name, arguments=arguments, origin=origin)
        )

    def lambda_(self, message: Message, origin: Origin | None) -> Expression:
        parameters = tuple(
            UnresolvedLambdaVariable(parts=tuple(v.name_parts)) for v in message.arguments
        )
        return LambdaFunction(
            body=self.read(message.function), parameters=parameters, origin=origin
        )

    def window(self, message: Message, origin: Origin | None) -> Expression:
        frame = message.frame_spec if message.HasField("frame_spec") else None
        ends = () if frame is None else (frame.lower, frame.upper)
        return WindowExpression(
            function=self.read(message.window_function),
            partition_by=self.read_all(message.partition_spec),
            order_by=tuple(self.order(item) for item in message.order_spec),
            frame=None if frame is None else _frame(frame),
            bounds=tuple(self.read(e.value) for e in ends if e.WhichOneof("boundary") == "value"),
            origin=origin,
        )

    def user_function(self, message: Message, origin: Origin | None) -> Expression:
        kind = message.WhichOneof("function")
        if kind == "python_udf":
            return self._python_call(message, origin)
        # A script's are planned; nothing runs one here.
        if kind == "scalar_scala_udf" and self.session.scripted:
            return scala_call(message, self.read_all(message.arguments), origin)
        raise unsupported(f"The Scala or Java function {message.function_name}()", origin)

    def _python_call(self, message: Message, origin: Origin | None) -> Expression:
        names, values = [], []
        for argument in message.arguments:
            by_name = argument.WhichOneof("expr_type") == "named_argument_expression"
            names.append(argument.named_argument_expression.key if by_name else "")
            values.append(argument.named_argument_expression.value if by_name else argument)
        return call_of(message, self.read_all(values), tuple(names), origin)

    def named_argument(self, message: Message, origin: Origin | None) -> Expression:
        raise unsupported(f"The argument by name {message.key}", origin)

    def subquery(self, message: Message, origin: Origin | None) -> Expression:
        """`df.scalar()`, `df.exists()`, `column.isin(df)`.

        Raises:
            StateplanError: a table as an argument of a function.
        """
        kinds = proto.SubqueryExpression
        kind = message.subquery_type
        if kind == kinds.SUBQUERY_TYPE_TABLE_ARG:
            raise unsupported("A DataFrame as a function's argument", origin)
        plan = self.session.subquery(message.plan_id)
        if kind == kinds.SUBQUERY_TYPE_EXISTS:
            return Exists(plan=plan, origin=origin)
        if kind == kinds.SUBQUERY_TYPE_SCALAR:
            return ScalarSubquery(plan=plan, origin=origin)
        values = self.read_all(message.in_subquery_values)
        return InSubquery(values=values, query=ListQuery(plan=plan, origin=origin), origin=origin)

    # ------------------------------------------------------------------------------------ wrapped

    def alias(self, message: Message, origin: Origin | None) -> Expression:
        child = self.read(message.expr)
        if len(message.name) == 1:
            metadata = Metadata(given=message.metadata) if message.HasField("metadata") else None
            return Alias(
                child=child, name=message.name[0], explicit_metadata=metadata, origin=origin
            )
        return MultiAlias(child=child, names=tuple(message.name), origin=origin)

    def cast(self, message: Message, origin: Origin | None) -> Expression:
        mode = _MODES.get(message.eval_mode, "ANSI" if self.session.conf.ansi else "LEGACY")
        written = message.WhichOneof("cast_to_type") == "type_str"
        type_ = read_type(message.type_str) if written else from_proto(message.type)
        return Cast(child=self.read(message.expr), type_=type_, mode=mode, origin=origin)

    def extract(self, message: Message, origin: Origin | None) -> Expression:
        return UnresolvedExtractValue(
            child=self.read(message.child),
            extraction=self.read(message.extraction),
            origin=origin,
        )

    def update(self, message: Message, origin: Origin | None) -> Expression:
        """`withField` and `dropFields`; a dotted name reaches into a struct within."""
        struct = self.read(message.struct_expression)
        value = None
        if message.HasField("value_expression"):
            value = self.read(message.value_expression)
        return _updated(struct, name_parts(message.field_name), value, origin)

    def sort_order(self, message: Message, origin: Origin | None) -> Expression:
        return replace(self.order(message), origin=origin)

    def order(self, message: Message) -> SortOrder:
        """An entry of a sort."""
        sort = proto.Expression.SortOrder
        return SortOrder(
            child=self.read(message.child),
            ascending=message.direction != sort.SORT_DIRECTION_DESCENDING,
            nulls_first=message.null_ordering == sort.SORT_NULLS_FIRST,
            origin=origin_of(message.child),
        )


def as_named(expression: Expression) -> Expression:
    """An entry of a select list: with the name it has, or waiting for one."""
    match expression:
        # A cast of a column has the column's name, and so has a cast of that.
        case Cast(child=Cast(child=UnresolvedAttribute(parts=(*_, name)))):
            return Alias(child=expression, name=name, origin=expression.origin)
        case Cast(child=Cast(child=AttributeReference(name=name))):
            return Alias(child=expression, name=name, origin=expression.origin)
    return select_entry(expression)


def _case(arguments: tuple[Expression, ...], origin: Origin | None) -> CaseWhen:
    """`when(c, v).when(...).otherwise(v)`: conditions and values in turn, then the rest's value."""
    pairs = len(arguments) // 2
    return CaseWhen(
        conditions=arguments[0 : 2 * pairs : 2],
        values=arguments[1 : 2 * pairs : 2],
        otherwise=arguments[-1] if len(arguments) % 2 else None,
        origin=origin,
    )


def _updated(
    struct: Expression, name: tuple[str, ...], value: Expression | None, origin: Origin | None
) -> UnresolvedFunction:
    """The update; one of an update adds to that one's changes."""
    first, *rest = name
    if rest:
        inner = UnresolvedExtractValue(child=struct, extraction=lit(first), origin=origin)
        value = _updated(inner, tuple(rest), value, origin)
    put = UnresolvedFunction(name="dropfield", arguments=(lit(first),), origin=origin)
    if value is not None:
        put = UnresolvedFunction(name="withfield", arguments=(lit(first), value), origin=origin)
    match struct:
        case UnresolvedFunction(name="update_fields", arguments=arguments):
            return replace(struct, arguments=(*arguments, put))
    return UnresolvedFunction(name="update_fields", arguments=(struct, put), origin=origin)


def _frame(message: Message) -> WindowFrame:
    rows = proto.Expression.Window.WindowFrame.FRAME_TYPE_ROW
    return WindowFrame(
        unit="ROWS" if message.frame_type == rows else "RANGE",
        lower=_bound(message.lower, "UNBOUNDED PRECEDING"),
        upper=_bound(message.upper, "UNBOUNDED FOLLOWING"),
    )


def _bound(message: Message, farthest: Bound) -> Bound:
    match message.WhichOneof("boundary"):
        case "current_row":
            return "CURRENT ROW"
        case "unbounded":
            return farthest
    return "DISTANCE"


_READERS: dict[str | None, Callable[[ExpressionReader, Message, Origin | None], Expression]] = {
    "literal": lambda reader, message, origin: literal_of(message, origin),
    "unresolved_attribute": ExpressionReader.attribute,
    "unresolved_function": ExpressionReader.function,
    "expression_string": ExpressionReader.text,
    "unresolved_star": ExpressionReader.star,
    "alias": ExpressionReader.alias,
    "cast": ExpressionReader.cast,
    "sort_order": ExpressionReader.sort_order,
    "lambda_function": ExpressionReader.lambda_,
    "window": ExpressionReader.window,
    "unresolved_extract_value": ExpressionReader.extract,
    "update_fields": ExpressionReader.update,
    "unresolved_named_lambda_variable": ExpressionReader.variable,
    "common_inline_user_defined_function": ExpressionReader.user_function,
    "call_function": ExpressionReader.call_function,
    "named_argument_expression": ExpressionReader.named_argument,
    "subquery_expression": ExpressionReader.subquery,
}
