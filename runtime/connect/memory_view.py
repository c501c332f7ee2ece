"""The view of a memory sink where the engine makes none of two columns of one name.

A join gives such columns, and Spark shows them. Sail makes DataFrames of them, but no views: so its
view has other names, and where a client names the view, a DataFrame of the right names stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sinks import MemorySink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .client_session import ClientSession


class MemoryView(MemorySink):
    """A memory sink whose view a client's session reads.

    Args:
        session: the client's session.
        name: the view's name.
    """

    def __init__(self, session: ClientSession, name: str) -> None:
        super().__init__(session.spark, name)
        self._session = session

    def show(self, rows: DataFrame, name: str) -> None:
        columns = rows.columns
        if self._session.backend.embedded and len(set(columns)) < len(columns):
            rows = rows.toDF(*(f"column {i}" for i in range(len(columns))))
            self._session.view_columns[name.lower()] = columns
        else:
            self._session.view_columns.pop(name.lower(), None)
        super().show(rows, name)
