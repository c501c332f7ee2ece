"""The file of a row, `input_file_name()`, by the hidden column `_metadata` of files.

    Select [input_file_name()]     Select [concat('file://', substring(_metadata.file_path, 6))]
    +- ReadSource [a]              +- ReadSource [a, _metadata.file_path, ...]

Spark's tasks know which file they are at; where an engine has no such function its source gives
the path. The two name a file alike but for the slashes in front. Nothing but selects and what
observes event times may stand between: above an exchange Spark has an empty string. Runs first, as
`_metadata` must be there for what prunes columns. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....planner.model.expressions.core import AttributeReference, Expression, lit
from ....planner.model.functions.build import call, is_call
from ....planner.model.tree import replace
from ..facts import BatchFacts
from ..nodes import ReadSource, RuntimeNode, Select
from ..observing_nodes import ObserveEventTime
from ..reading import metadata_parts

_PATH = "_metadata.file_path"
_LONGEST = (1 << 31) - 1


def name_files(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan that takes names of files from its sources, where an engine does not know them."""
    if facts.engine.exactness is None:
        return plan

    def naming(node: RuntimeNode) -> RuntimeNode:
        if not isinstance(node, Select) or not asks_for_files(node.expressions):
            return node
        shown = _showing(node.child, facts)
        if shown is None:
            return node
        child, path = shown
        after_scheme = call("substring", path, lit(len("file:") + 1), lit(_LONGEST))
        name = call("concat", lit("file://"), after_scheme)

        def named(part: Expression) -> Expression:
            return name if is_call(part, "input_file_name") else part

        return replace(node.map_expressions(lambda e: e.transform_up(named)), child=child)

    return plan.transform_up(naming)


def asks_for_files(expressions: Iterable[Expression]) -> bool:
    """Whether `input_file_name()` is in one of them."""
    return any(is_call(part, "input_file_name") for e in expressions for part in e.walk())


def _showing(node: RuntimeNode, facts: BatchFacts) -> tuple[RuntimeNode, AttributeReference] | None:
    """The rows with the paths of their files, and the column of these; None: there are none."""
    match node:
        case ReadSource():
            return _source_showing(node, facts)
        case Select() | ObserveEventTime():
            shown = _showing(node.child, facts)
            if shown is None:
                return None
            child, path = shown
            above = replace(node, child=child)
            if isinstance(above, Select) and path.expr_id not in above.output_ids:
                above = replace(above, columns=(*above.columns, path))
            return above, path
    return None


def _source_showing(
    source: ReadSource, facts: BatchFacts
) -> tuple[RuntimeNode, AttributeReference] | None:
    reader = facts.readers.get(source.name)
    if reader is None or not reader.metadata:
        return None
    if not source.metadata:
        parts = metadata_parts(reader.metadata)
        source = replace(source, attributes=(*source.attributes, *parts), metadata=len(parts))
    (path,) = (a for a in source.attributes[-source.metadata :] if a.name == _PATH)
    return source, path
