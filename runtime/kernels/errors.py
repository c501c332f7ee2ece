"""What a kernel raises for bad data: a condition of Spark's and its message."""

from __future__ import annotations

from typing import Final, Self

from ...planner.model.conditions import conditions

NOT_EXACT = "STATEPLAN_NOT_EXACT"
WRONG_HEADER = "_LEGACY_ERROR_TEMP_3241"
"""A CSV file's header has other columns than the schema: a condition without a name of its own."""
BYPASS: Final = {"config": '"spark.sql.ansi.enabled"'}


class KernelError(Exception):
    """A batch cannot be computed; travels from a worker to the driver as text.

    Attributes:
        condition: Spark's error condition, such as `ARITHMETIC_OVERFLOW`.
        message: Spark's sentence with `[CONDITION]` and SQLSTATE; a legacy condition's has neither.
    """

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(condition, message)
        self.condition = condition
        self.message = message

    @classmethod
    def of(cls, condition: str, /, **parameters: object) -> Self:
        """The error for an entry of the table of conditions, a value for each of its parameters."""
        return cls(condition, conditions()[condition].message(parameters))

    def __str__(self) -> str:
        # A worker's error travels as this text; Spark's message of a legacy condition hides it.
        name = f"[{self.condition}]"
        return self.message if name in self.message else f"{name} {self.message}"


def not_exact(what: str, *, of_rows: bool = False) -> KernelError:
    """What Spark computes and our own code does not, as a sentence.

    Args:
        what: the sentence.
        of_rows: whether the query runs without the rows that hold it.
    """
    rest = ", or leave such rows out." if of_rows else "."
    return KernelError(NOT_EXACT, f"[{NOT_EXACT}] {what} Run the query with --engine spark{rest}")


def unread_text(function: str, what: object) -> KernelError:
    """A text that a function takes has something of which nobody knows what Spark makes."""
    return not_exact(
        f"A text that {function} takes has {what} and is not read as Spark would here."
    )


def failed_read(path: str, why: str = "") -> KernelError:
    """A file cannot be read, for a reason that has no condition of its own."""
    error = KernelError.of("FAILED_READ_FILE.NO_HINT", path=f"file://{path}")
    return KernelError(error.condition, f"{error.message}\n{why}") if why else error


def sum_overflow(*, of_intervals: bool) -> KernelError:
    """A sum of whole numbers, or of intervals in microseconds, leaves 64 bits."""
    if of_intervals:
        condition = "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION"
        return KernelError.of(condition, functionName="`try_add`")
    return overflow("overflow", "try_add")


def decimal_sum_overflow() -> KernelError:
    """A sum of decimals needs more digits than its type has."""
    return overflow("Overflow in sum of decimals", "try_sum")


def overflow(message: str, instead: str = "") -> KernelError:
    """A number leaves its type; `instead` is the function that gives null then."""
    hint = f" Use '{instead}' to tolerate overflow and return NULL instead." if instead else ""
    return KernelError.of("ARITHMETIC_OVERFLOW", message=message, alternative=hint, **BYPASS)


def no_decimal(value: str, precision: int, scale: int) -> KernelError:
    """A decimal has more digits than its type."""
    condition = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
    return KernelError.of(condition, value=value, precision=precision, scale=scale, **BYPASS)
