"""The usual shapes of scalar functions: one `scalar(...)` line says what a function is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import registry
from ..expressions.core import AttributeReference, Call, Expression, Literal, lit
from ..frozen import dataclass
from ..registry import FunctionSpec, Show
from ..schemas.types import STRING, DataType, NullType
from ..settings.conf import Conf
from ..tree import replace
from .coercion import cast_to
from .inputs import Parameter, parameter
from .mismatch import unexpected_type, wrong_argument_count

Result = DataType | int | Callable[[Call], DataType]
Check = Callable[[Call, Conf], Expression]
Text = Callable[[Call, Show], str]
UTILITIES = "ExpressionImplUtils"
"""The class of the JVM whose methods stand for several functions; see `invoked`."""


@dataclass(frozen=True)
class Parameters:
    """A parameter list: `string, int, [string], any...`.

    `[int]` may be left out; `[int=0]` is filled with that constant where it is; `int...` repeats.
    """

    required: tuple[Parameter, ...]
    optional: tuple[tuple[Parameter, Expression | None], ...] = ()
    repeated: Parameter | None = None

    def expected(self) -> str:
        """How many, as WRONG_NUM_ARGS says it."""
        least = len(self.required)
        if self.repeated is not None:
            return f"> {least - 1}" if least else "> -1"
        if self.optional:
            counts = range(least, least + len(self.optional) + 1)
            return f"[{', '.join(map(str, counts))}]"
        return str(least)

    def fits(self, count: int) -> bool:
        """Whether that many arguments may be given."""
        if self.repeated is not None:
            return count >= len(self.required)
        return len(self.required) <= count <= len(self.required) + len(self.optional)

    def at(self, position: int) -> Parameter:
        """The parameter that an argument stands for."""
        if position < len(self.required):
            return self.required[position]
        rest = position - len(self.required)
        if rest < len(self.optional):
            return self.optional[rest][0]
        assert self.repeated is not None
        return self.repeated


def parameters(text: str) -> Parameters:
    """Read a parameter list."""
    required: list[Parameter] = []
    optional: list[tuple[Parameter, Expression | None]] = []
    repeated = None
    for part in (p.strip() for p in text.split(", ") if p.strip()):
        if part.startswith("["):
            kind, equals, default = part[1:-1].partition("=")
            optional.append((parameter(kind), _constant(default) if equals else None))
        elif part.endswith("..."):
            repeated = parameter(part[:-3])
        else:
            required.append(parameter(part))
    return Parameters(tuple(required), tuple(optional), repeated)


def _constant(text: str) -> Literal:
    if text == "null":
        return Literal(value=None, type_=STRING)
    if text in ("true", "false"):
        return lit(text == "true")
    return lit(int(text)) if text.lstrip("-").isdigit() else lit(text.strip("'"))


def check_arguments(call: Call, wanted: Parameters, conf: Conf) -> Call:
    """The call with defaults filled in and implicit casts.

    Raises:
        AnalysisError: WRONG_NUM_ARGS or DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE.
    """
    count = len(call.arguments)
    if not wanted.fits(count):
        raise wrong_argument_count(call.name, wanted.expected(), count)
    given = list(call.arguments)
    for _, default in wanted.optional[max(0, count - len(wanted.required)) :]:
        if default is not None:
            given.append(default)
    full = replace(call, arguments=tuple(given))
    return check_types(full, [wanted.at(i) for i in range(len(given))], conf)


def taking(takes: str, then: Check | None = None) -> Check:
    """The check of a function of these parameters, and what else there is to check after it."""
    wanted = parameters(takes)

    def check(call: Call, conf: Conf) -> Expression:
        typed = check_arguments(call, wanted, conf)
        return typed if then is None else then(typed, conf)

    return check


def check_types(call: Call, wanted: Sequence[Parameter | str], conf: Conf) -> Call:
    """The call with its arguments cast to what the parameters take.

    Raises:
        AnalysisError: DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE.
    """
    arguments: list[Expression] = []
    failed: int | None = None
    kinds = [parameter(w) if isinstance(w, str) else w for w in wanted]
    for position, (argument, kind) in enumerate(zip(call.arguments, kinds, strict=True)):
        target = kind.implicit(argument.data_type, ansi=conf.ansi)
        if target is None:
            failed = position if failed is None else failed
            arguments.append(argument)
        else:
            arguments.append(cast_null_to(argument, target, conf))
    checked = with_arguments(call, arguments)
    if failed is not None:
        raise unexpected_type(checked, failed, kinds[failed].sql)
    return checked


def cast_null_to(expression: Expression, data_type: DataType, conf: Conf) -> Expression:
    """`cast_to`, but `any` leaves a null as it is."""
    return expression if isinstance(data_type, NullType) else cast_to(expression, data_type, conf)


def with_arguments(call: Call, arguments: Sequence[Expression]) -> Call:
    """The call over other arguments; itself if they are the same."""
    same = len(arguments) == len(call.arguments) and all(
        a is b for a, b in zip(arguments, call.arguments, strict=True)
    )
    return call if same else replace(call, arguments=tuple(arguments))


def result_of(result: Result) -> Callable[[Call], DataType]:
    """The result type as a function of the call: a type, an argument's position, or itself."""
    if isinstance(result, DataType):
        return lambda call: result
    if isinstance(result, int):
        return lambda call: call.arguments[result].data_type
    return result


def first_type(call: Call) -> DataType:
    """The type of the first argument."""
    return call.arguments[0].data_type


def option_type(call: Call) -> DataType:
    """The type that the call's first option is."""
    found = call.options[0]
    assert isinstance(found, DataType)
    return found


def never_null(call: Call) -> bool:
    """A function that has a value for every input."""
    return False


def always_null(call: Call) -> bool:
    """A function that may have no value for any input."""
    return True


def scalar(
    name: str,
    takes: str,
    result: Result,
    *,
    nullable: Callable[[Call], bool] = registry.null_if_any,
    then: Check | None = None,
    check: Check | None = None,
    text: Text | str | None = None,
    pretty: Text | str | None = None,
    sql: Text | str | None = None,
    null_intolerant: bool | None = None,
    **fields: Any,
) -> FunctionSpec:
    """A function of fixed parameter types.

    Args:
        name: canonical name.
        takes: its parameters, see `Parameters`.
        result: its type, or the position of the argument whose type it has.
        nullable: whether a call may be null.
        then: a further check after the arguments were cast.
        check: all of the check instead of `takes`.
        text: the plan text; a string with `{name}`, `{args}`, `{0}`, `{option1}`, `{zone}`, ...
        pretty: the same for the pretty text.
        sql: the same for Spark SQL.
        null_intolerant: default: it is null where an argument is. Ask a live Spark: a condition
            `f(column) IS NOT NULL` shows in its plan whether Spark infers anything about the
            column.
        fields: other fields of FunctionSpec. `evaluate` gets the call and the values, of which one
            is null only if the function is not null-intolerant.
    """
    if null_intolerant is None:
        usual = nullable in (registry.null_if_any, always_null)
        null_intolerant = usual and not fields.get("null_for_null")
    return FunctionSpec(
        name=name,
        data_type=result_of(result),
        nullable=nullable,
        check=check or taking(takes, then),
        text=template(text),
        pretty=template(pretty),
        sql=template(sql),
        null_intolerant=null_intolerant and "replacement" not in fields,
        **fields,
    )


def named(spec: FunctionSpec, *names: str) -> tuple[FunctionSpec, ...]:
    """The function and its copies under other names, which show as they were written."""
    return registry.one_function(spec, *(replace(spec, name=name) for name in names))


def each(*specs: FunctionSpec, **fields: Any) -> tuple[FunctionSpec, ...]:
    """The functions, all with these fields."""
    return tuple(replace(spec, **fields) for spec in specs)


def replaced(
    name: str,
    takes: str,
    build: Callable[[Call], Expression],
    *,
    nullable: Callable[[Call], bool] | None = None,
    text: Text | str | None = None,
    pretty: Text | str | None = None,
    sql: Text | str | None = None,
    **fields: Any,
) -> FunctionSpec:
    """A function that the optimizer replaces: its type and nullability are the replacement's."""

    def can_build(typed: Call, conf: Conf) -> Expression:
        build(typed)
        return typed

    return FunctionSpec(
        name=name,
        data_type=lambda call: build(call).data_type,
        nullable=nullable or (lambda call: build(call).nullable),
        check=taking(takes, can_build),
        text=template(text),
        pretty=template(pretty),
        sql=template(sql),
        replacement=build,
        **fields,
    )


def invoked(
    name: str,
    takes: str,
    result: Result,
    target: str,
    shown: str = "{args}",
    *,
    kind: str = "static_invoke",
    nullable: Callable[[Call], bool] = always_null,
    text: str | None = None,
    check: Check | None = None,
    evaluate: Callable[..., object] | None = None,
) -> FunctionSpec:
    """A function that the optimizer replaces by a call of a JVM method.

    `shown` is the method's argument list as plans have it. The replacement keeps the function's
    own arguments and knows its name, so that Spark SQL can say it.
    """

    def build(call: Call) -> Expression:
        return replace(call, name=kind, options=(name, target, shown, *call.options))

    return scalar(
        name,
        takes,
        result,
        nullable=nullable,
        check=check,
        text=text,
        sql="{name}({args})",
        replacement=build,
        evaluate=evaluate,
    )


def original(call: Call) -> Call:
    """The function call that a `static_invoke` or `invoke` stands for."""
    return replace(call, name=str(call.options[0]), options=call.options[3:])


def invocation_text(call: Call, show: Show) -> str:
    """`static_invoke(Base64.encode(bin#0, true))`."""
    _, target, shown = call.options[:3]
    form = template(str(shown))
    assert form is not None
    # A method of a column's own value, or of what an argument makes.
    name = str(target)
    for position, argument in enumerate(call.arguments):
        name = name.replace(f"{{{position}}}", show(argument))
    return f"{call.name}({name}({form(call, show)}))"


def template(text: Text | str | None) -> Text | None:
    """A text function of a template; see `scalar`."""
    if not isinstance(text, str):
        return text
    form = text

    def show_call(call: Call, show: Show) -> str:
        shown = [show(argument) for argument in call.arguments]
        # A parameter that may be left out shows as Scala's Option.
        options = {f"option{i}": "None" for i in range(len(shown), 5)}
        options |= {f"option{i}": f"Some({value})" for i, value in enumerate(shown)}
        return form.format(
            *shown,
            name=call.name,
            upper=call.name.upper(),
            args=", ".join(shown),
            zone=f"Some({call.time_zone})",
            ansi=str(call.ansi).lower(),
            **options,
        )

    return show_call


def like_call(
    call: Call, name: str, *arguments: Expression, options: tuple[object, ...] = ()
) -> Call:
    """A call under the settings of another, unchecked: for replacements of the right types."""
    return replace(call, name=name, arguments=arguments, options=options)


def conf_of(call: Call) -> Conf:
    """The settings under which a call was resolved, as far as functions care."""
    return Conf(
        {
            "spark.sql.ansi.enabled": str(call.ansi).lower(),
            "spark.sql.session.timeZone": call.time_zone or "UTC",
        }
    )


def resolve(name: str, arguments: Sequence[Expression], conf: Conf) -> Expression:
    """A call of a registered function over analyzed arguments, checked and cast.

    Raises:
        AnalysisError: the arguments do not fit.
        KeyError: there is no such function.
    """
    spec = registry.lookup(name)
    call = Call(
        name=spec.name, arguments=tuple(arguments), ansi=conf.ansi, time_zone=conf.time_zone
    )
    return call if spec.check is None else spec.check(call, conf)


def common_reference(value: Expression) -> AttributeReference:
    """What stands in Spark's messages for a value that a function mentions twice."""
    return AttributeReference(name="commonexpressionref()", type_=value.data_type)


def resolve_like(call: Call, name: str, *arguments: Expression) -> Expression:
    """`resolve` under the settings of another call, for replacements."""
    return resolve(name, arguments, conf_of(call))
