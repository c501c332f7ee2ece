"""Spark's words and signs: sqlglot's tokenizer without keywords.

Spark reserves no word by default: any may name a column. So every word is a plain token here, and
the parser decides by its place whether it is a keyword.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot.dialects.databricks import Databricks
from sqlglot.tokens import TokenType

_SIGNS = ("/*+", "==", "::", "||", ">=", "<=", "<>", "!=", "<=>", "->", "=>")


class SparkTokenizer(Databricks.Tokenizer):  # type: ignore[misc]
    """Tokens of Spark SQL: words (VAR), quoted names, strings, numbers, signs."""

    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        sign: Databricks.Tokenizer.KEYWORDS[sign] for sign in _SIGNS
    }
    # Two quotes in a string stand for one.
    STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
    HEX_STRINGS: ClassVar[list[str]] = []  # X'1F' is read as the literals with a type's name
    # `10L` stays one word: the parser reads the suffix.
    NUMERIC_LITERALS: ClassVar[dict[str, str]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()
    # SELECT is a word like any other: without this `/*+` would begin a comment.
    TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = {TokenType.VAR}


class IdentifierTokenizer(SparkTokenizer):
    """The same where double quotes are around names (`spark.sql.ansi.doubleQuotedIdentifiers`)."""

    QUOTES: ClassVar[list[str]] = ["'"]
    IDENTIFIERS: ClassVar[list[str]] = ["`", '"']
