"""Functions in Scala or Java, such as a model's: Spark plans them without knowing what they do."""

from __future__ import annotations

from functools import cached_property

from ..frozen import dataclass
from ..registry import FunctionSpec, Show
from ..schemas.types import DataType
from .core import Call

SCALA_FUNCTION = "scalaudf"


@dataclass(frozen=True, kw_only=True)
class ScalaUDF(Call):
    """A call of such a function; `function_name` is empty where it was given none.

    Attributes:
        type_: what it returns.
        may_be_null: whether that may be null.
        is_deterministic: whether equal arguments give equal results.
    """

    name: str = SCALA_FUNCTION
    function_name: str = ""
    type_: DataType
    may_be_null: bool = True
    is_deterministic: bool = True

    @cached_property
    def spec(self) -> FunctionSpec:
        return FunctionSpec(
            name=SCALA_FUNCTION,
            options_hold="names",
            kind="scalar",
            data_type=lambda call: self.type_,
            nullable=lambda call: self.may_be_null,
            text=_text,
            pretty=_text,
            sql=_text,
            deterministic=self.is_deterministic,
        )

    @property
    def data_type(self) -> DataType:
        return self.type_

    @property
    def foldable(self) -> bool:
        return False


def _text(call: Call, show: Show) -> str:
    assert isinstance(call, ScalaUDF)
    return f"{call.function_name or 'UDF'}({', '.join(map(show, call.arguments))})"
