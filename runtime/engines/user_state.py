"""What kernels and operators need of a user's function as the client sent it."""

from __future__ import annotations

import json
from functools import lru_cache

from ...planner.model.errors import RuntimeFailure
from ...planner.model.expressions.core import AttributeReference
from ...planner.model.expressions.python_functions import PythonUDF
from ...planner.model.schemas.types import StructType
from ...planner.model.settings.conf import Conf
from ...planner.model.settings.pinned import STATE_ENCODING
from ..frames import schema_json
from ..kernels.user_state.frames import PandasSettings
from ..kernels.user_state.functions import UserFunction
from ..kernels.user_state.processor import declared
from ..kernels.user_state.variables import Declared


def command_of(call: PythonUDF) -> bytes:
    """A call's function and the type that it was declared with, pickled.

    Raises:
        RuntimeFailure: the call was made without a client, so there is no function.
    """
    if not call.options:
        raise RuntimeFailure(
            "STATEPLAN_CANNOT_RUN",
            f"The Python function {call.function_name} is known by name only.",
            hint="Write the query in PySpark.",
        )
    command = call.options[2]
    assert isinstance(command, bytes)
    return command


def user_function(call: PythonUDF, columns: tuple[int, ...]) -> UserFunction:
    """A function that gets some columns of a kernel's input.

    Raises:
        RuntimeFailure: it is known by its name alone.
    """
    names = tuple(a.name for a in call.arguments if isinstance(a, AttributeReference))
    return UserFunction(command=command_of(call), columns=columns, names=names)


def declared_by(call: PythonUDF, time_mode: str) -> Declared:
    """The variables that a processor declares: its `init` is run here, once.

    Raises:
        RuntimeFailure: it is known by its name alone.
        KernelError: it fails, or declares what Spark refuses.
    """
    return _declared(user_function(call, ()), time_mode)


@lru_cache(maxsize=32)
def _declared(function: UserFunction, time_mode: str) -> Declared:
    return declared(function, time_mode)


def evolves_by_name(conf: Conf) -> bool:
    """Whether fields of variables go by their names when a schema changes, as Avro has them."""
    return conf[STATE_ENCODING].lower() == "avro"


def state_json(schema: StructType) -> str:
    """A schema as PySpark reads it."""
    return json.dumps(schema_json(schema))


def pandas_settings(conf: Conf) -> PandasSettings:
    """How rows become pandas in a query."""

    def value(name: str, usual: str) -> str:
        return conf.settings.get(f"spark.sql.{name}", usual)

    def flag(name: str, usual: str) -> bool:
        return value(name, usual).lower() == "true"

    return PandasSettings(
        zone=conf.time_zone,
        most=int(value("execution.arrow.maxRecordsPerBatch", "10000")),
        safe=flag("execution.pandas.convertToArrowArraySafely", "false"),
        by_name=flag("legacy.execution.pandas.groupedMap.assignColumnsByName", "true"),
        coerces_ints=flag("execution.pythonUDF.pandas.intToDecimalCoercionEnabled", "false"),
        extension_ints=flag("execution.pythonUDF.pandas.preferIntExtensionDtype", "false"),
    )
