"""TABLESAMPLE as Spark reads it and refuses it."""

from __future__ import annotations

import re
from typing import Any

from ..model.errors import AnalysisError
from .context import fragment_error
from .literal_reader import LiteralReader

Node = Any  # sqlglot carries no types here


def refused_sample(node: Node, reader: LiteralReader) -> AnalysisError | None:
    """What Spark says to a size that it reads, but does not take."""
    origin = reader.origin(node)
    kind = node.args["kind"]
    if kind == "EMPTY":
        return fragment_error(
            "_LEGACY_ERROR_TEMP_0014", "TABLESAMPLE does not accept empty inputs.", origin
        )
    if kind in ("ON colname", "ON function"):
        return _unsupported(f"BUCKET x OUT OF y {kind}", reader, node)
    if kind != "BYTES":
        return None
    size = reader.origin(node.args["sizes"][0])
    text = size.source[size.start : size.stop + 1]
    if re.fullmatch("[0-9]+[bBkKmMgG]", text):
        return _unsupported("byteLengthLiteral", reader, node)
    return fragment_error(
        "_LEGACY_ERROR_TEMP_0016",
        f"{text} is not a valid byte length literal, expected syntax:"
        " DIGIT+ ('B' | 'K' | 'M' | 'G').",
        origin,
    )


def _unsupported(what: str, reader: LiteralReader, node: Node) -> AnalysisError:
    return fragment_error(
        "_LEGACY_ERROR_TEMP_0015",
        f"TABLESAMPLE({what}) is not supported.",
        reader.origin(node),
    )
