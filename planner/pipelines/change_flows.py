"""AUTO CDC in a pipeline's SQL file: the changes, their keys, and how they are applied."""

from __future__ import annotations

from ..model.expressions.core import Expression
from ..sql import parse_expression
from ..sql.errors import fragment_error, origin_at
from .auto_cdc import AutoCdc
from .statement_cursor import StatementCursor, blanked

_CLAUSES = ("APPLY", "SEQUENCE", "COLUMNS", "STORED", "TRACK")


def read_change_flow(at: StatementCursor, *, databricks: bool) -> tuple[str, AutoCdc]:
    """What stands behind AUTO CDC, up to the end of the statement.

    It says the query of the changes, and how they are applied.

    Raises:
        AnalysisError: PARSE_SYNTAX_ERROR, or a source that is no stream.
    """
    at.need("FROM")
    source = _changes(at)
    at.need("KEYS")
    keys = at.columns()
    if databricks:
        at.take("IGNORE", "NULL", "UPDATES")
    deletes: Expression | None = None
    if at.take("APPLY"):
        at.need("AS", "DELETE", "WHEN")
        deletes = _expression(at)
    at.need("SEQUENCE", "BY")
    sequence_by = _expression(at)
    columns, left_out = _selection(at) if at.take("COLUMNS") else ((), ())
    scd_type = 1
    if at.take("STORED"):
        at.need("AS", "SCD", "TYPE")
        token = at.token
        if token.text not in ("1", "2"):
            raise at.misfit()
        at.advance()
        scd_type = int(token.text)
    tracked: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    if at.take("TRACK"):
        at.need("HISTORY", "ON")
        tracked, untracked = _selection(at)
    if not at.at_end:
        raise at.misfit()
    return source, AutoCdc(
        keys=keys,
        sequence_by=sequence_by,
        deletes=deletes,
        columns=columns,
        except_columns=left_out,
        scd_type=scd_type,
        tracked=tracked,
        untracked=untracked,
    )


def _changes(at: StatementCursor) -> str:
    """The query of the changes, in its place in the statement."""
    start = at.token
    if at.at_end:
        raise at.misfit()
    query = at.ahead("(")
    written = at.until(lambda here: here.ahead("KEYS"))
    if query:
        return blanked(at.text, start.start) + written
    if start.text.upper() != "STREAM":
        error = fragment_error(
            "_LEGACY_ERROR_TEMP_0035",
            origin_at(at.text, start.start, start.start + len(written) - 1),
            hint=f"Write FROM STREAM {written}.",
            message="AUTO CDC source must be a streaming query, e.g. STREAM(<table>).",
        )
        error.message = f"\n{error.message}"
        raise error
    lead = "SELECT * FROM "
    kept = max(0, start.start - len(lead))
    return blanked(at.text, kept) + lead + written


def _expression(at: StatementCursor) -> Expression:
    return parse_expression(at.until(_at_clause))


def _at_clause(at: StatementCursor) -> bool:
    return at.token.text.upper() in _CLAUSES


def _selection(at: StatementCursor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`(a, b)`, or `* EXCEPT (a, b)`: the columns named, and those left out."""
    if at.take("*"):
        at.need("EXCEPT")
        return (), at.columns()
    if at.ahead("("):
        return at.columns(), ()
    raise at.misfit()
