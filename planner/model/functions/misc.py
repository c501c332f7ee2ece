"""The rest: types by name as functions, JVM invocations, facts about the session."""

from __future__ import annotations

import getpass

from ..expressions.core import Call, Cast, Expression, Literal
from ..registry import FunctionSpec, Show, register
from ..schemas.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
)
from ..settings.conf import Conf
from .json_values import invoked
from .mismatch import non_foldable, wrong_argument_count
from .shapes import (
    invocation_text,
    like_call,
    named,
    never_null,
    original,
    replaced,
    resolve_like,
    scalar,
)

# Spark's release and the revision that it was built from.
_VERSION = "4.3.0 98bc0212c94705434471627068f41e374ccab143"


def _type_function(name: str, data_type: DataType) -> FunctionSpec:
    """`int(x)` is CAST(x AS INT)."""

    def check(call: Call, conf: Conf) -> Expression:
        if len(call.arguments) != 1:
            raise wrong_argument_count(name, "1", len(call.arguments))
        return Cast(
            child=call.arguments[0],
            type_=data_type,
            mode="ANSI" if conf.ansi else "LEGACY",
            time_zone=conf.time_zone,
            implicit=True,  # names show the argument alone
            origin=call.origin,
        )

    return FunctionSpec(name=name, data_type=lambda call: data_type, check=check)


def _typeof(call: Call) -> Expression:
    return Literal(value=call.arguments[0].data_type.simple, type_=STRING)


def _equal_null(call: Call) -> Expression:
    return resolve_like(call, "<=>", *call.arguments)


def _to_binary(call: Call) -> Expression:
    """By the format: hex digits, an encoding, base64."""
    value, *rest = call.arguments
    if rest and not rest[0].foldable:
        raise non_foldable(call, "fmt", "STRING", rest[0])
    form = str(rest[0].value).lower() if rest and isinstance(rest[0], Literal) else "hex"
    if form in ("utf-8", "utf8"):
        charset = Literal(value="UTF-8", type_=STRING)
        options = ("encode", "Encode.encode", "{args}, false, false")
        return like_call(call, "static_invoke", value, charset, options=options)
    if form == "base64":
        return like_call(call, "unbase64", value, options=(True,))
    return like_call(call, "unhex", value, options=(True,))


def _try_to_binary(call: Call) -> Expression:
    """`tryeval(unhex(..))`; it keeps the format, so that Spark SQL can say it."""
    form = call.arguments[1] if len(call.arguments) > 1 else None
    value = form.value if isinstance(form, Literal) else None
    made = _to_binary(like_call(call, "to_binary", *call.arguments))
    # The encoding is an argument already.
    more = () if value is None or len(made.children) > 1 else (value,)
    return like_call(call, "tryeval", made, options=("try_to_binary", *more))


def _enough_values(call: Call, show: Show) -> str:
    """`n` of the values are neither null nor NaN, in Spark SQL."""
    least, *values = (show(argument) for argument in call.arguments)
    present = []
    for value, argument in zip(values, call.arguments[1:], strict=True):
        is_number = isinstance(argument.data_type, DoubleType | FloatType)
        test = f"{value} IS NOT NULL" + (f" AND NOT isnan({value})" if is_number else "")
        present.append(f"CAST({test} AS INT)")
    return f"({' + '.join(present)} >= {least})"


def _invocation(name: str) -> FunctionSpec:
    def show_sql(call: Call, show: object) -> str:
        function = original(call)
        form = function.spec.sql
        if form is not None:
            return form(function, show)  # type: ignore[arg-type]
        return f"{function.name}({', '.join(show(a) for a in function.arguments)})"  # type: ignore[operator]

    def show_name(call: Call, show: Show) -> str:
        return f"{call.options[0]}({', '.join(show(a) for a in call.arguments)})"

    return FunctionSpec(
        name=name,
        data_type=lambda call: original(call).data_type,
        nullable=lambda call: original(call).nullable,
        null_intolerant=True,
        evaluate=invoked,
        options_hold="method",
        text=invocation_text,
        pretty=show_name,
        sql=show_sql,
    )


def _check_cast(call: Call, conf: Conf) -> Expression:
    raise wrong_argument_count("cast", "0", len(call.arguments))


register(
    _type_function("boolean", BOOLEAN),
    _type_function("tinyint", BYTE),
    _type_function("smallint", SHORT),
    _type_function("int", INT),
    _type_function("bigint", LONG),
    _type_function("float", FLOAT),
    _type_function("double", DOUBLE),
    _type_function("decimal", DecimalType(10, 0)),
    _type_function("string", STRING),
    _type_function("binary", BINARY),
    _type_function("date", DATE),
    _type_function("timestamp", TIMESTAMP),
    replaced("typeof", "any", _typeof, of_types=True),
    replaced("equal_null", "any, any", _equal_null, constant_text="data"),
    replaced(
        "to_binary",
        "string, [string]",
        _to_binary,
        text="to_binary({0}, {option1}, false)",
        sql="to_binary({args})",
    ),
    replaced("try_to_binary", "string, [string]", _try_to_binary),
    # DataFrames' dropna() makes it; SQL has no name for it.
    FunctionSpec(
        name="atleastnnonnulls",
        data_type=lambda call: BOOLEAN,
        nullable=never_null,
        sql=_enough_values,
        treats_alike=True,
    ),
    _invocation("static_invoke"),
    _invocation("invoke"),
    # What casts: `cast(x AS type)`; as a function of that name it takes nothing.
    scalar("cast", "", STRING, check=_check_cast),
    scalar("input_file_name", "", STRING, deterministic=False, nullable=never_null),
    scalar(
        "spark_partition_id",
        "",
        INT,
        deterministic=False,
        nullable=never_null,
        text="SPARK_PARTITION_ID()",
        pretty="SPARK_PARTITION_ID()",
    ),
    scalar("monotonically_increasing_id", "", LONG, deterministic=False, nullable=never_null),
    scalar("uuid", "", STRING, deterministic=False, nullable=never_null),
    *named(
        scalar(
            "current_user",
            "",
            STRING,
            nullable=never_null,
            evaluate=lambda call: getpass.getuser(),
            literal=True,
        ),
        "user",
        "session_user",
    ),
    scalar(
        "current_schema",
        "",
        STRING,
        nullable=never_null,
        aliases=("current_database",),
        evaluate=lambda call: "default",
    ),
    scalar(
        "current_catalog",
        "",
        STRING,
        nullable=never_null,
        evaluate=lambda call: "spark_catalog",
    ),
    scalar("version", "", STRING, nullable=never_null, evaluate=lambda call: _VERSION),
    *(
        scalar(name, "", LONG, deterministic=False, nullable=never_null)
        for name in ("input_file_block_start", "input_file_block_length")
    ),
)
