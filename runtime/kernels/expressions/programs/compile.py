"""Expressions of the planner as programs for tasks, if tasks can compute them.

Nothing here needs Arrow: a pass asks `unsupported`, and `compile_program` gives what travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
)
from .....planner.model.expressions.windows import PreciseTimestampConversion
from .....planner.model.functions.hashes import whole_schema
from .....planner.model.schemas.types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    contains_type,
)
from .....planner.model.text.literal_text import session_time_zone
from .....planner.model.text.time_zones import known_zone
from .....planner.model.tree import replace
from ...json.support import corrupt_column, formats_in, is_written, keeps_null
from ...json.support import unsupported as json_unsupported
from ...readers.csv_options import unsupported_in_texts as csv_unsupported
from .day_times import IntervalOfText, in_day_time, is_zero
from .given import Given, Seen, conjuncts
from .json_once import json_once
from .kinds import Unsupported, has_shortened_interval, is_constant, kind_of
from .operation_facts import Arguments, leaves, takes
from .program import UNTOUCHED, Kind, Mode, Observed, Program, Step
from .shapes import by_others, context_of, positive_remainder
from .supported import OPERATIONS, can_cast, can_raise, cast_raises
from .supported_lambdas import HIGHER_ORDER, captured, parameters_of

_BY_CLOCK = ("from_unixtime", "unix_timestamp", "to_unix_timestamp")
"""Operations that reckon in the session's time zone over values that are no timestamps."""


def unsupported(expression: Expression, columns: Sequence[AttributeReference]) -> str | None:
    """What in an expression tasks cannot compute; None: they compute it."""
    try:
        _Compiler(columns).place(expression)
    except Unsupported as reason:
        return str(reason)
    return None


def takes_long(program: Program) -> bool:
    """Whether a program takes longer than reading its columns from files."""
    operations = (OPERATIONS.get(step.name) for step in program.steps)
    return any(known is not None and known.slow for known in operations)


def compile_program(
    expressions: Sequence[Expression],
    columns: Sequence[AttributeReference],
    conditions: Sequence[Expression] = (),
    *,
    untouched: bool = False,
    observed: Seen | None = None,
) -> Program | None:
    """Expressions over columns as a program; None: only Spark computes them.

    Args:
        expressions: what to compute, with or without names.
        columns: the columns of the batches, in their order.
        conditions: which rows to compute it of: their conjuncts, one after the other.
        untouched: whether columns of types that are not computed with may pass as they are.
        observed: what is observed of rows that have passed those conditions, the first ones.
    """
    seen = None if observed is None else (observed[0], tuple(observed[1]))
    given = Given(tuple(expressions), tuple(columns), tuple(conditions), seen)
    return _compiled(given, session_time_zone(), untouched)


@lru_cache(maxsize=256)
def _compiled(given: Given, time_zone: str, untouched: bool) -> Program | None:
    """The program in a session's time zone: batches share programs, and planning asks twice."""
    compiler = _Compiler(given.columns, untouched=untouched)
    seen = None
    try:
        places = tuple(compiler.place(conjunct) for conjunct in conjuncts(given.conditions))
        results = tuple(compiler.place(expression) for expression in given.expressions)
        if given.observed is not None:
            value, before = given.observed
            seen = Observed(compiler.place(value), len(conjuncts(before)))
    except Unsupported:
        return None
    return json_once(Program(tuple(compiler.steps), places, results, seen))


class _Compiler:
    """Steps as they come up, each once."""

    def __init__(
        self,
        columns: Sequence[AttributeReference | LambdaVariable],
        *,
        untouched: bool = False,
        of_lambda: bool = False,
    ) -> None:
        self._untouched = untouched
        self._of_lambda = of_lambda
        self.steps: list[Step] = []
        self._places: dict[Step, int] = {}
        self._columns: dict[int, int] = {}
        for position, column in enumerate(columns):
            self._columns.setdefault(column.expr_id, position)

    def place(self, expression: Expression) -> int:
        """Where the step that computes an expression stands."""
        match expression:
            case Alias(child=child):
                return self.place(child)
            case AttributeReference() | LambdaVariable():
                return self._column(expression)
            case Literal(value=value, type_=data_type):
                kind = kind_of(data_type)
                if not is_constant(value, kind):
                    raise Unsupported(f"a constant of type {data_type.simple}")
                return self._add(Step("literal", (), kind, options=(value,)))
            case Cast():
                return self._cast(expression)
            case CaseWhen(conditions=conditions, values=values, otherwise=otherwise):
                divided = positive_remainder(expression)
                if divided is not None:
                    return self._operation("pmod", expression, divided)
                rest = otherwise or Literal(value=None, type_=expression.data_type)
                pairs = zip(conditions, values, strict=True)
                inputs = [part for pair in pairs for part in pair]
                return self._branches("case", expression, [*inputs, rest])
            case GetStructField(child=child, ordinal=ordinal):
                return self._operation("get_struct_field", expression, [child], options=(ordinal,))
            case IntervalOfText(child=child, fixed=fixed):
                return self._operation("interval_of_text", expression, [child], options=(fixed,))
            case PreciseTimestampConversion(child=child):
                return self._operation("precise_timestamp_conversion", expression, [child])
            case Call():
                return self._call(expression)
        raise Unsupported(type(expression).__name__)

    def _add(self, step: Step) -> int:
        if step not in self._places:
            self._places[step] = len(self.steps)
            self.steps.append(step)
        return self._places[step]

    def argument(self, expression: Expression) -> int:
        """The place of what an operation is given: of arrays and maps their values, too."""
        match expression:
            case Alias(child=child):
                return self.argument(child)
            case AttributeReference():
                return self._column(expression, whole=True)
        return self.place(expression)

    def _column(self, column: AttributeReference | LambdaVariable, *, whole: bool = False) -> int:
        if column.expr_id not in self._columns:
            raise Unsupported(f"column {column.name}")
        options = (self._columns[column.expr_id],)
        try:
            kind = kind_of(column.data_type)
        except Unsupported:
            if not self._untouched:
                raise
            kind = UNTOUCHED
        if self._of_lambda:
            return self._add(Step("parameter", (), kind, options=options))
        if not whole and contains_type(column.data_type, ArrayType, MapType):
            if not self._untouched:
                raise Unsupported(f"type {column.data_type.simple}")
            kind = UNTOUCHED
        return self._add(Step("column", (), kind, options=options))

    def _cast(self, cast: Cast) -> int:
        place = self.argument(cast.child)
        source, target = self.steps[place].kind, kind_of(cast.data_type)
        if source == "void":
            return self._add(Step("literal", (), target, options=(None,)))
        shortened = target == "string" and has_shortened_interval(cast.child.data_type)
        if shortened or not can_cast(source, target, cast.mode):
            raise Unsupported(f"cast of {cast.child.data_type.simple} to {cast.data_type.simple}")
        raises = self.steps[place].raises or cast_raises(source, target, cast.mode)
        zone = self._zone(cast.time_zone, *leaves(source), target)
        context = context_of(cast)
        step = Step("cast", (place,), target, (source,), cast.mode, zone, (), raises, context)
        return self._add(step)

    def _zone(self, zone: str | None, *kinds: Kind) -> str:
        if "timestamp" not in kinds:
            return "UTC"
        name = zone or session_time_zone()
        if not known_zone(name):
            raise Unsupported(f"time zone {name}")
        return name

    def _call(self, call: Call) -> int:
        name = call.name
        if name == "array_sort" and call.options == ("default",):
            return self._operation(name, call, call.arguments[:1])
        if name in HIGHER_ORDER and isinstance(call.arguments[-1], LambdaFunction):
            return self._higher_order(call)
        if name == "to_json" or (name == "invoke" and call.options[0] == "to_json"):
            return self._to_json(call)
        parts = call.arguments[0] if name == "element_at" else None
        if isinstance(parts, Call) and parts.name == "stringsplitsql":
            return self._operation("split_part", call, (*parts.arguments, call.arguments[1]))
        digits = call.arguments[0] if name == "length" else None
        if isinstance(digits, Call) and digits.name == "bin":
            return self._length_of_digits(digits)
        if name in ("invoke", "static_invoke") and call.options[0] in OPERATIONS:
            given_mode: Mode = "ANSI" if call.ansi else "LEGACY"
            return self._operation(str(call.options[0]), call, call.arguments, given_mode)
        if name not in OPERATIONS:
            replacement = call.spec.replacement
            other = by_others(call) if replacement is None else replacement(call)
            if other is None:
                raise Unsupported(f"function {name}")
            return self.place(other)
        if name in ("+", "-") and is_zero(call.arguments[-1]):
            return self.place(call.arguments[0])  # so a time window without an offset begins
        if name in ("if", "coalesce", "and", "or"):
            return self._branches(name, call, call.arguments)
        if name in ("from_json", "from_csv"):
            return self._from_text(call)
        if name == "named_struct":
            return self._operation(name, call, call.arguments[1::2])
        mode: Mode = "TRY" if "TRY" in call.options else "ANSI" if call.ansi else "LEGACY"
        options = () if mode == "TRY" or name in ("negative",) else call.options
        if name == "elt" and any(self.steps[self.argument(a)].raises for a in call.arguments[1:]):
            raise Unsupported("elt of texts that may fail")  # Spark computes the chosen one alone
        if name == "gettimestamp":
            mode, options = "ANSI" if options[2] else "LEGACY", options[1:2]
        arguments = call.arguments
        if name == "timestamp_add_interval":
            zone = call.time_zone or session_time_zone()
            arguments = (arguments[0], in_day_time(arguments[1], zone))
        return self._operation(name, call, arguments, mode, call.time_zone, options)

    def _length_of_digits(self, digits: Call) -> int:
        """`length(bin(number))`, by which the rank of a hash is found: no digit is written."""
        place = self.argument(digits.arguments[0])
        number = self.steps[place]
        if number.kind != "bigint":
            raise Unsupported(f"bin({digits.arguments[0].data_type.simple})")
        return self._add(Step("length", (place,), "int", ("bigint",), raises=number.raises))

    def _higher_order(self, call: Call) -> int:
        """A function of values and of lambdas, each of these a program of its own."""
        known = HIGHER_ORDER[call.name]
        functions = [part for part in call.arguments if isinstance(part, LambdaFunction)]
        values = [part for part in call.arguments if not isinstance(part, LambdaFunction)]
        others = captured(functions)
        inputs = [self.argument(value) for value in values]
        kinds = tuple(self.steps[place].kind for place in inputs)
        kind = kind_of(call.data_type)
        bodies = []
        for function, most in zip(functions, known.parameters, strict=True):
            columns = (*parameters_of(function, most), *others)
            body = _Compiler(columns, of_lambda=True)
            place = body.argument(function.body)
            bodies.append(Program(tuple(body.steps), (), (place,)))
        if not known.takes(kinds, tuple(body.kind for body in bodies), kind):
            types = ", ".join(value.data_type.simple for value in values)
            raise Unsupported(f"{call.name}({types})")
        inputs += [self._column(other, whole=True) for other in others]
        own = known.raises or any(body.raises for body in bodies)
        step = Step(
            name=call.name,
            inputs=tuple(inputs),
            kind=kind,
            kinds=kinds,
            options=tuple(bodies),
            raises=own or any(self.steps[place].raises for place in inputs),
            context=context_of(call),
        )
        return self._add(step)

    def _to_json(self, call: Call) -> int:
        (value,) = call.arguments
        given = call.options[3:] if call.name == "invoke" else call.options
        pairs = given[0] if given and isinstance(given[0], tuple) else ()
        shows_null = keeps_null(dict(pairs))
        if shows_null is None or not is_written(value.data_type):
            raise Unsupported(f"to_json of {value.data_type.simple}")
        parts: tuple[Expression, ...] = (value,)
        names = None
        kind = value.data_type
        if (
            isinstance(value, Call)
            and value.name == "named_struct"
            and isinstance(kind, StructType)
        ):
            parts = value.arguments[1::2]
            names = tuple(field.name for field in kind.fields)
        inputs = tuple(map(self.argument, parts))
        steps = [self.steps[place] for place in inputs]
        kinds, raises = tuple(step.kind for step in steps), any(step.raises for step in steps)
        zone, options = self._zone(call.time_zone, "timestamp"), (names, shows_null)
        step = Step("to_json", inputs, "string", kinds, zone=zone, options=options, raises=raises)
        return self._add(step)

    def _from_text(self, call: Call) -> int:
        schema, given = call.options[:2]
        options = dict(given) if isinstance(given, tuple) else {}
        if not isinstance(schema, DataType):
            raise Unsupported(f"{call.name} without a schema")
        whole, is_csv = whole_schema(call), call.name == "from_csv"
        columns = (
            whole if isinstance(whole, StructType) else StructType((StructField("value", whole),))
        )
        names = [field.name for field in columns.fields]
        reason = (csv_unsupported if is_csv else json_unsupported)(columns, options)
        mode = next((v for name, v in options.items() if name.lower() == "mode"), "PERMISSIVE")
        if reason is not None or mode.upper() != "PERMISSIVE":
            raise Unsupported(f"{call.name}: {reason or mode}")
        if (corrupt := corrupt_column(options)) in names:
            raise Unsupported(f"{call.name}: the field '{corrupt}' takes malformed texts")
        place = self._operation(call.name, call, call.arguments)
        zone = self._zone(call.time_zone, *leaves(self.steps[place].kind))
        formats = formats_in(options)
        chosen: tuple[object, ...] = (formats,) if any(formats) else ()
        if is_csv and isinstance(schema, StructType):
            read = tuple(names.index(field.name) for field in schema.fields)
            chosen = (tuple(options.items()), len(names), read)
        return self._add(replace(self.steps[place], zone=zone, options=chosen))

    def _operation(
        self,
        name: str,
        expression: Expression,
        arguments: Sequence[Expression],
        mode: Mode = "LEGACY",
        zone: str | None = None,
        options: tuple[object, ...] = (),
    ) -> int:
        known = OPERATIONS[name]
        # One value of any type only passes; what is made of several holds them as they are here.
        passing = known.signatures == (("any",),) and not known.variadic
        inputs = tuple(map(self.place if passing else self.argument, arguments))
        kinds = tuple(self.steps[place].kind for place in inputs)
        values = [self._constant(place) for place in inputs]
        if UNTOUCHED in kinds and not passing:
            raise Unsupported(f"{name} of what only passes")
        kind = kind_of(expression.data_type)
        if not takes(known, Arguments(kinds, values, options, kind)):
            types = ", ".join(argument.data_type.simple for argument in arguments)
            raise Unsupported(f"{name}({types})")
        below = any(self.steps[place].raises for place in inputs)
        if below and name in ("in", "inset"):
            raise Unsupported(f"{name} of what can fail")
        own = known.raises == "always" or (known.raises == "ANSI" and mode == "ANSI")
        step = Step(
            name=name,
            inputs=inputs,
            kind=kind,
            kinds=kinds,
            mode=mode,
            zone=self._zone(zone, "timestamp" if name in _BY_CLOCK else kind, *kinds),
            options=options,
            raises=below or (own and can_raise(name, kinds, values, mode)),
            context=context_of(expression),
        )
        return self._add(step)

    def _branches(self, name: str, expression: Expression, parts: Sequence[Expression]) -> int:
        inputs = [self.argument(part) for part in parts]
        kind = kind_of(expression.data_type)
        # A bare NULL among the branches is one of their type.
        for i, place in enumerate(inputs):
            if self.steps[place].kind == "void" and kind != "void":
                inputs[i] = self._add(Step("literal", (), kind, options=(None,)))
        kinds = tuple(self.steps[place].kind for place in inputs)
        values = kinds[1::2] + kinds[-1:] if name in ("if", "case") else kinds
        if any(value != kind for value in values):
            raise Unsupported(f"{name} of several types")
        raises = any(self.steps[place].raises for place in inputs)
        return self._add(Step(name, tuple(inputs), kind, kinds, raises=raises))

    def _constant(self, place: int) -> object:
        """The value of a literal; `...` for anything else."""
        step = self.steps[place]
        return step.options[0] if step.name == "literal" else ...
