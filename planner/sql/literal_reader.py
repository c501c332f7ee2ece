"""Literals of the tree, and where every node stands in the text."""

from __future__ import annotations

import re
from typing import Any

from ..model.expressions.core import Expression, Literal, Origin
from ..model.schemas.types import BOOLEAN, NULL, STRING
from ..model.settings.conf import Conf
from .context import origin_at
from .literals import interval_literal, number_literal, typed_literal
from .parameters import parameter_value

Node = Any  # sqlglot carries no types here

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)


class LiteralReader:
    """One query's text and settings; reads the literals of its tree."""

    def __init__(self, text: str, conf: Conf) -> None:
        self.text = text
        self.conf = conf
        self._escaped = conf.flag("spark.sql.parser.escapedStringLiterals")
        # Those of the query's WINDOW clause; none for an expression by itself.
        self.windows: dict[str, Node] | None = None

    def origin(self, node: Node) -> Origin:
        """Where the node stands in the text."""
        start = node.meta.get("start", 0)
        return origin_at(self.text, start, node.meta.get("stop", start))

    def literal(self, node: Node) -> Expression:
        if node.is_string:
            origin = self.origin(node)
            return Literal(value=self._string(node, origin), type_=STRING, origin=origin)
        return number_literal(node.this, self.origin(node))

    def _string(self, node: Node, origin: Origin) -> str:
        if not self._escaped:
            return str(node.this)
        parts = _STRING.findall(self.text, origin.start, origin.stop + 1)
        return "".join(part[1:-1] for part in parts)

    def typed(self, node: Node) -> Expression:
        return typed_literal(node.args["kind"], node.this.this, self.conf, self.origin(node))

    def interval(self, node: Node) -> Expression:
        origin = self.origin(node)
        skipped = len("interval")
        rest = self.text[origin.start + skipped :]
        start = origin.start + skipped + len(rest) - len(rest.lstrip())
        return interval_literal(node, origin, origin_at(self.text, start, origin.stop))

    def boolean(self, node: Node) -> Expression:
        # Spark's TRUE and FALSE are shared objects and stand nowhere.
        return Literal(value=bool(node.this), type_=BOOLEAN)

    def null(self, node: Node) -> Expression:
        return Literal(value=None, type_=NULL, origin=self.origin(node))

    def parameter(self, node: Node) -> Expression:
        return parameter_value(node.args.get("this") or "", self.text, self.origin(node).start)
