"""What a kernel raises for bad data: a condition of Spark's and its message."""

from __future__ import annotations


class KernelError(Exception):
    """A batch cannot be computed; travels from a worker to the driver as text.

    Attributes:
        condition: Spark's error condition, such as `ARITHMETIC_OVERFLOW`.
        message: Spark's sentence with `[CONDITION]` and SQLSTATE.
    """

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(condition, message)
        self.condition = condition
        self.message = message

    def __str__(self) -> str:
        return self.message


def not_exact(what: str, *, of_rows: bool = False) -> KernelError:
    """What Spark computes and our own code does not, as a sentence.

    Args:
        what: the sentence.
        of_rows: whether the query runs without the rows that hold it.
    """
    condition = "STATEPLAN_NOT_EXACT"
    rest = ", or leave such rows out." if of_rows else "."
    return KernelError(condition, f"[{condition}] {what} Run the query with --engine spark{rest}")


def failed_read(path: str, why: str = "") -> KernelError:
    """A file cannot be read, for a reason that has no condition of its own."""
    condition = "FAILED_READ_FILE.NO_HINT"
    shown = f"Encountered error while reading file file://{path}. {why}".strip()
    return KernelError(condition, f"[{condition}] {shown} SQLSTATE: KD001")


def too_many_rows() -> KernelError:
    """A subquery that stands for a value gives several."""
    condition = "SCALAR_SUBQUERY_TOO_MANY_ROWS"
    return KernelError(
        condition,
        f"[{condition}] More than one row returned by a subquery used as an expression. "
        "SQLSTATE: 21000",
    )


_ANSI_ADVICE = (
    'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22003'
)


def sum_overflow() -> KernelError:
    """A sum of whole numbers leaves 64 bits."""
    return KernelError(
        "ARITHMETIC_OVERFLOW",
        "[ARITHMETIC_OVERFLOW] overflow. Use 'try_add' to tolerate overflow and return NULL "
        f"instead. {_ANSI_ADVICE}",
    )


def decimal_sum_overflow() -> KernelError:
    """A sum of decimals needs more digits than its type has."""
    return KernelError(
        "ARITHMETIC_OVERFLOW",
        "[ARITHMETIC_OVERFLOW] Overflow in sum of decimals. Use 'try_sum' to tolerate overflow "
        f"and return NULL instead. {_ANSI_ADVICE}",
    )


def average_out_of_range(value: str, precision: int, scale: int) -> KernelError:
    """An average of decimals has more digits than its type."""
    condition = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
    return KernelError(
        condition,
        f"[{condition}]  {value} cannot be represented as Decimal({precision}, {scale}). If "
        'necessary set "spark.sql.ansi.enabled" to "false" to bypass this error, and return NULL '
        "instead. SQLSTATE: 22003",
    )


def interval_sum_overflow() -> KernelError:
    """A sum of intervals leaves 64 bits of microseconds."""
    return KernelError(
        "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION",
        "[INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION] Integer overflow while operating with "
        "intervals. Use `try_add` to tolerate overflow and return NULL instead. SQLSTATE: 22015",
    )


def bitmap_position(position: int, size: int) -> KernelError:
    """A bitmap of so many bytes has no such position."""
    return KernelError(
        "INVALID_BITMAP_POSITION",
        f"[INVALID_BITMAP_POSITION] The 0-indexed bitmap position {position} is out of bounds. The "
        f"bitmap has {size * 8} bits ({size} bytes). SQLSTATE: 22003",
    )


def hll_sizes_differ(left: int, right: int) -> KernelError:
    """Sketches of two sizes are united."""
    return KernelError(
        "HLL_UNION_DIFFERENT_LG_K",
        f"[HLL_UNION_DIFFERENT_LG_K] Sketches have different `lgConfigK` values: {left} and "
        f"{right}. Set the `allowDifferentLgConfigK` parameter to true to call `hll_union_agg` "
        "with different `lgConfigK` values. SQLSTATE: 22000",
    )


def hll_invalid_sketch() -> KernelError:
    """What is united is no sketch, or one in a form of another program."""
    return KernelError(
        "HLL_INVALID_INPUT_SKETCH_BUFFER",
        "[HLL_INVALID_INPUT_SKETCH_BUFFER] Invalid call to `hll_union_agg`; only valid HLL sketch "
        "buffers are supported as inputs (such as those produced by the `hll_sketch_agg` "
        "function). SQLSTATE: 22546",
    )
