"""Functions in Scala or Java, such as a model's: Spark plans them without knowing what they do."""

from __future__ import annotations

from functools import cached_property

from ..frozen import dataclass
from ..registry import FunctionSpec, Show
from .core import Call
from .python_functions import UserFunction

SCALA_FUNCTION = "scalaudf"


@dataclass(frozen=True, kw_only=True)
class ScalaUDF(UserFunction):
    """A call of such a function; `function_name` is empty where it was given none.

    Attributes:
        may_be_null: whether what it returns may be null.
    """

    name: str = SCALA_FUNCTION
    function_name: str = ""
    may_be_null: bool = True

    @cached_property
    def spec(self) -> FunctionSpec:
        return FunctionSpec(
            name=SCALA_FUNCTION,
            options_hold="names",
            data_type=lambda call: self.type_,
            nullable=lambda call: self.may_be_null,
            text=_text,
            pretty=_text,
            sql=_text,
            deterministic=self.is_deterministic,
        )


def _text(call: Call, show: Show) -> str:
    assert isinstance(call, ScalaUDF)
    return f"{call.function_name or 'UDF'}({', '.join(map(show, call.arguments))})"
