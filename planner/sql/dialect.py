"""The sqlglot dialect of Spark 4.3's streaming SQL."""

from __future__ import annotations

from sqlglot.dialects.databricks import Databricks

from .query_parser import StreamingParser
from .tokens import IdentifierTokenizer, SparkTokenizer


class SparkStreaming(Databricks):  # type: ignore[misc]
    """Spark SQL with `STREAM` and `WATERMARK`, read as Spark 4.3 reads it."""

    Tokenizer = SparkTokenizer
    Parser = StreamingParser


class QuotedIdentifiers(SparkStreaming):
    """The same with names in double quotes."""

    Tokenizer = IdentifierTokenizer
