"""The rest: types as functions, methods of the JVM, facts about the session, AES."""

from __future__ import annotations

import getpass

from ..expressions.core import Call, Expression, Literal, lit
from ..registry import FunctionSpec, NotFolded, Show, register
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
from ..tree import replace
from .coercion import implicit
from .mismatch import non_foldable, require_count, wrong_argument_count
from .shapes import (
    UTILITIES,
    always_null,
    each,
    first_type,
    invocation_text,
    like_call,
    named,
    never_null,
    original,
    replaced,
    resolve_like,
    scalar,
)
from .shapes import invoked as invoked_by_name

_DECRYPTED = "binary, binary, [string='GCM'], [string='DEFAULT'], [binary='']"
_METHOD = "string, string, any..."
# Spark's release and the revision that it was built from.
_VERSION = "4.3.0 98bc0212c94705434471627068f41e374ccab143"


def _type_function(data_type: DataType) -> FunctionSpec:
    """`int(x)` is CAST(x AS INT)."""

    def check(call: Call, conf: Conf) -> Expression:
        require_count(call, 1)
        # Implicit: names show the argument alone.
        return replace(implicit(call.arguments[0], data_type, conf), origin=call.origin)

    name = data_type.simple.partition("(")[0]
    return FunctionSpec(name=name, data_type=lambda call: data_type, check=check)


def _to_binary(call: Call) -> Expression:
    """By the format: hex digits, an encoding, base64."""
    value, *rest = call.arguments
    if rest and not rest[0].foldable:
        raise non_foldable(call, "fmt", "STRING", rest[0])
    form = str(rest[0].value).lower() if rest and isinstance(rest[0], Literal) else "hex"
    if form in ("utf-8", "utf8"):
        charset = lit("UTF-8")
        options = ("encode", "Encode.encode", "{args}, false, false")
        return like_call(call, "static_invoke", value, charset, options=options)
    if form == "base64":
        return like_call(call, "unbase64", value, options=(True,))
    return like_call(call, "unhex", value, options=(True,))


def _try_to_binary(call: Call) -> Expression:
    """`tryeval(unhex(..))`; it keeps the format, so that Spark SQL can say it."""
    form = call.arguments[1] if len(call.arguments) > 1 else None
    value = form.value if isinstance(form, Literal) else None
    decoded = _to_binary(like_call(call, "to_binary", *call.arguments))
    # The encoding is an argument already.
    more = () if value is None or len(decoded.children) > 1 else (value,)
    return like_call(call, "tryeval", decoded, options=("try_to_binary", *more))


def _enough_values(call: Call, show: Show) -> str:
    """`n` of the values are neither null nor NaN, in Spark SQL."""
    least, *values = (show(argument) for argument in call.arguments)
    present = []
    for value, argument in zip(values, call.arguments[1:], strict=True):
        is_number = isinstance(argument.data_type, DoubleType | FloatType)
        test = f"{value} IS NOT NULL" + (f" AND NOT isnan({value})" if is_number else "")
        present.append(f"CAST({test} AS INT)")
    return f"({' + '.join(present)} >= {least})"


def _invocation_sql(call: Call, show: Show) -> str:
    function = original(call)
    if function.spec.sql is not None:
        return function.spec.sql(function, show)
    return f"{function.name}({', '.join(map(show, function.arguments))})"


def _check_cast(call: Call, conf: Conf) -> Expression:
    raise wrong_argument_count("cast", "0", len(call.arguments))


def _try_decrypt(call: Call) -> Expression:
    """`tryeval(static_invoke(..))`: what fails is null. It keeps the name, for Spark SQL."""
    options = ("aes_decrypt", f"{UTILITIES}.aesDecrypt", "{args}")
    method = like_call(call, "static_invoke", *call.arguments, options=options)
    return like_call(call, "tryeval", method, options=(call.name,))


def _check_method(call: Call, conf: Conf) -> Expression:
    """The names of the class and the method are constants."""
    for word, argument in zip(("class", "method"), call.arguments, strict=False):
        if not argument.foldable:
            raise non_foldable(call, word, "STRING", argument)
    return call


def _value_of_original(call: Call, *values: object) -> object:
    function = original(call)
    if function.spec.evaluate is None:
        raise NotFolded
    return function.spec.evaluate(function, *values)


register(
    *map(_type_function, (BOOLEAN, BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, DecimalType(10, 0))),
    *map(_type_function, (STRING, BINARY, DATE, TIMESTAMP)),
    replaced("typeof", "any", lambda call: lit(first_type(call).simple), of_types=True),
    replaced(
        "equal_null",
        "any, any",
        lambda call: resolve_like(call, "<=>", *call.arguments),
        constant_text="data",
    ),
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
        written=False,
    ),
    *(
        FunctionSpec(
            name=name,
            data_type=lambda call: original(call).data_type,
            nullable=lambda call: original(call).nullable,
            null_intolerant=True,
            evaluate=_value_of_original,
            options_hold="method",
            text=invocation_text,
            pretty=lambda call, show: f"{call.options[0]}({', '.join(map(show, call.arguments))})",
            sql=_invocation_sql,
            written=False,
        )
        for name in ("static_invoke", "invoke")
    ),
    # What casts: `cast(x AS type)`; as a function of that name it takes nothing.
    scalar("cast", "", STRING, check=_check_cast),
    *each(
        scalar("input_file_name", "", STRING, of_file=True),
        scalar("input_file_block_start", "", LONG, of_file=True),
        scalar("input_file_block_length", "", LONG, of_file=True),
        scalar(
            "spark_partition_id",
            "",
            INT,
            text="SPARK_PARTITION_ID()",
            pretty="SPARK_PARTITION_ID()",
        ),
        scalar("monotonically_increasing_id", "", LONG),
        scalar("uuid", "", STRING, random_seed=True),
        nullable=never_null,
        null_intolerant=False,
        deterministic=False,
    ),
    *each(
        *named(
            scalar(
                "current_user", "", STRING, evaluate=lambda call: getpass.getuser(), literal=True
            ),
            "user",
            "session_user",
        ),
        scalar(
            "current_schema",
            "",
            STRING,
            aliases=("current_database",),
            evaluate=lambda call: "default",
        ),
        scalar("current_catalog", "", STRING, evaluate=lambda call: "spark_catalog"),
        scalar("version", "", STRING, evaluate=lambda call: _VERSION),
        nullable=never_null,
        null_intolerant=False,
    ),
    # AES, and methods of the JVM that a query names.
    invoked_by_name(
        "aes_encrypt",
        "binary, binary, [string='GCM'], [string='DEFAULT'], [binary=''], [binary='']",
        BINARY,
        f"{UTILITIES}.aesEncrypt",
    ),
    invoked_by_name("aes_decrypt", _DECRYPTED, BINARY, f"{UTILITIES}.aesDecrypt"),
    replaced("try_aes_decrypt", _DECRYPTED, _try_decrypt, sql="{name}({args})"),
    *each(
        scalar(
            "java_method", _METHOD, STRING, then=_check_method, text="java_method({args}, true)"
        ),
        scalar("reflect", _METHOD, STRING, then=_check_method, text="reflect({args}, true)"),
        scalar("try_reflect", _METHOD, STRING, then=_check_method, text="reflect({args}, false)"),
        nullable=always_null,
        null_intolerant=False,
        deterministic=False,
        codegen=False,
    ),
)
