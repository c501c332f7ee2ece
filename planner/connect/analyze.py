"""The AnalyzePlan call: what is known of a DataFrame without running it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ..explaining import explain
from ..model.catalog import Source
from ..model.plans.relations import LocalRelation, Relation
from ..model.text.logical_text import tree_text
from ..model.text.schema_text import tree_string
from .failures import not_started, unsupported
from .places import Message
from .types import read_schema, read_type, to_proto

if TYPE_CHECKING:
    from .session import Planned, PlannerSession

SPARK_VERSION = "4.3.0"
_EXPLAIN_MODE = proto.AnalyzePlanRequest.Explain.ExplainMode


def analyze(session: PlannerSession, request: Message) -> Message:
    """The answer to an AnalyzePlanRequest, session ids aside.

    Raises:
        StateplanError: the DataFrame is refused, or it is asked what only Spark knows.
    """
    kind = request.WhichOneof("analyze")
    asked = getattr(request, kind)
    answer = proto.AnalyzePlanResponse()
    match kind:
        case "schema":
            frame = _frame(session, asked.plan)
            answer.schema.schema.CopyFrom(to_proto(frame.analyzed.schema))
        case "explain":
            answer.explain.explain_string = explained(session, asked)
        case "tree_string":
            level = asked.level if asked.HasField("level") else None
            shown = tree_string(_frame(session, asked.plan).analyzed.schema, level)
            answer.tree_string.tree_string = shown
        case "is_local":
            plan = _frame(session, asked.plan).analyzed
            answer.is_local.is_local = isinstance(plan, LocalRelation)
        case "is_streaming":
            frame = session.widening.planned_for_rows(asked.plan.root)
            answer.is_streaming.is_streaming = frame.analyzed.is_streaming
        case "input_files":
            answer.input_files.files.extend(input_files(session, asked))
        case "spark_version":
            answer.spark_version.version = SPARK_VERSION
        case "ddl_parse":
            answer.ddl_parse.parsed.CopyFrom(to_proto(read_type(asked.ddl_string)))
        case "same_semantics":
            one, other = _text(session, asked.target_plan), _text(session, asked.other_plan)
            answer.same_semantics.result = one == other
        case "semantic_hash":
            digest = hashlib.sha256(_text(session, asked.plan).encode()).digest()
            answer.semantic_hash.result = int.from_bytes(digest[:4], "big", signed=True)
        case "persist":
            if session.widening.planned_for_rows(asked.relation).analyzed.is_streaming:
                raise not_started()
            answer.persist.SetInParent()  # nothing is computed, so there is nothing to keep
        case "unpersist":
            answer.unpersist.SetInParent()
        case "get_storage_level":
            answer.get_storage_level.storage_level.replication = 1
        case "json_to_ddl":
            fields = read_schema(asked.json_string).fields
            answer.json_to_ddl.ddl_string = ",".join(
                f"{f.name} {f.data_type.sql}{'' if f.nullable else ' NOT NULL'}" for f in fields
            )
        case _:
            raise unsupported(f"The question '{kind}' about a DataFrame")
    return answer


def _frame(session: PlannerSession, plan: Message) -> Planned:
    return session.planned(plan.root)


def explained(session: PlannerSession, asked: Message) -> str:
    """`df.explain(mode)`: as Spark, a stream's plan in append mode, supported or not."""
    frame = _frame(session, asked.plan)
    mode = _EXPLAIN_MODE.Name(asked.explain_mode).removeprefix("EXPLAIN_MODE_").lower()
    mode = "simple" if mode == "unspecified" else mode
    return explain(session.execution(frame, supported=False), mode) + "\n"


def input_files(session: PlannerSession, asked: Message) -> list[str]:
    """The directories of the tables that a DataFrame reads: which files are there nobody looks."""
    plan = _frame(session, asked.plan).analyzed
    names = [relation.name for relation in plan.collect(Relation)]
    known = {s.name: s.location for s in session.tables.values() if isinstance(s, Source)}
    return list(dict.fromkeys(known.get(name, name) for name in names))


def _text(session: PlannerSession, plan: Message) -> str:
    """The plan without ids: equal for plans that do the same in the same way."""
    from ...physical.explain.normalise import normalise

    return normalise(tree_text(_frame(session, plan).analyzed))
