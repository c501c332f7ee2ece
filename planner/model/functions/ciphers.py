"""AES, which Spark calls as methods; and methods of the JVM that a query names."""

from __future__ import annotations

from ..expressions.core import Call, Expression
from ..registry import FunctionSpec, register
from ..schemas.types import BINARY, STRING
from ..settings.conf import Conf
from .mismatch import non_foldable
from .shapes import always_null, check_arguments, invoked, like_call, parameters, replaced, scalar

_DECRYPTED = "binary, binary, [string='GCM'], [string='DEFAULT'], [binary='']"
_UTILITIES = "ExpressionImplUtils"


def _tried(call: Call) -> Expression:
    """`tryeval(static_invoke(..))`: what fails is null. It keeps the name, for Spark SQL."""
    options = ("aes_decrypt", f"{_UTILITIES}.aesDecrypt", "{args}")
    method = like_call(call, "static_invoke", *call.arguments, options=options)
    return like_call(call, "tryeval", method, options=(call.name,))


def _reflect(name: str, *, fails: bool) -> FunctionSpec:
    wanted = parameters("string, string, any...")

    def check(call: Call, conf: Conf) -> Expression:
        checked = check_arguments(call, wanted, conf)
        for place, (word, argument) in enumerate(
            zip(("class", "method"), checked.arguments, strict=False)
        ):
            if not argument.foldable:
                raise non_foldable(checked, word, "STRING", checked.arguments[place])
        return checked

    called = "java_method" if name == "java_method" else "reflect"
    return scalar(
        name,
        "any...",
        STRING,
        check=check,
        nullable=always_null,
        text=f"{called}({{args}}, {str(fails).lower()})",
        null_intolerant=False,
        deterministic=False,
        codegen=False,
    )


register(
    invoked(
        "aes_encrypt",
        "binary, binary, [string='GCM'], [string='DEFAULT'], [binary=''], [binary='']",
        BINARY,
        f"{_UTILITIES}.aesEncrypt",
    ),
    invoked("aes_decrypt", _DECRYPTED, BINARY, f"{_UTILITIES}.aesDecrypt"),
    replaced("try_aes_decrypt", _DECRYPTED, _tried, sql="{name}({args})"),
    _reflect("java_method", fails=True),
    _reflect("reflect", fails=True),
    _reflect("try_reflect", fails=False),
)
