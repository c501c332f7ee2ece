"""What Spark refuses of a pipeline, in its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..model.errors import AnalysisError
from ..model.expressions.core import Origin
from ..model.schemas.types import StructType
from ..model.settings.conf import Conf
from ..model.text.quoting import to_sql_id
from ..model.text.schema_text import tree_string

if TYPE_CHECKING:
    from .model import Dataset, Flow, Identifier


def refusal(
    condition: str, /, *, hint: str = "", origin: Origin | None = None, **parameters: Any
) -> AnalysisError:
    """An error with the line of the definition at fault."""
    return _at(AnalysisError.of(condition, hint=hint, **parameters), origin)


def without_condition(message: str, hint: str, origin: Origin | None = None) -> AnalysisError:
    """What Spark says of it without a condition, with the line of the definition at fault."""
    return _at(AnalysisError(None, message, hint=hint), origin)


def _at(error: AnalysisError, origin: Origin | None) -> AnalysisError:
    if origin is not None:
        error.place = f"{origin.file}:{origin.line}"
    return error


# ------------------------------------------------------------------------------------ definitions


def multipart_flow(name: str, origin: Origin | None) -> AnalysisError:
    """A flow's name has one part."""
    return refusal("MULTIPART_FLOW_NAME_NOT_SUPPORTED", origin=origin, flowName=name)


def duplicate_output(new: Dataset, old: Dataset) -> AnalysisError:
    """Two data sets of one name."""
    return refusal(
        "PIPELINE_DUPLICATE_IDENTIFIERS.OUTPUT",
        origin=new.origin,
        outputType1=new.kind.registered_as,
        outputName=to_sql_id(new.identifier),
        outputType2=old.kind.registered_as,
    )


def duplicate_flow(flow: Flow, other: Flow) -> AnalysisError:
    """Two flows of one name."""
    return refusal(
        "PIPELINE_DUPLICATE_IDENTIFIERS.FLOW",
        origin=flow.origin,
        flowName=flow.full_name,
        datasetNames=f"{to_sql_id(other.target)},{to_sql_id(flow.target)}",
    )


def bad_statement(message: str, statement: str, origin: Origin) -> AnalysisError:
    """A statement of an SQL file that defines nothing."""
    return refusal(
        "PIPELINE_SQL_GRAPH_ELEMENT_REGISTRATION_ERROR",
        origin=origin,
        message=message,
        offendingQuery=f"\nOffending query:\n{statement}\n",
        codeLocation=f"Query defined at {origin.file}:{origin.line}",
    )


# ------------------------------------------------------------------------------------------ graph


def without_flow(dataset: Dataset) -> AnalysisError:
    """A table that nothing writes."""
    return refusal(
        "PIPELINE_DATASET_WITHOUT_FLOW",
        hint=f"Write it with @append_flow(target='{dataset.name}').",
        origin=dataset.origin,
        identifier=to_sql_id(dataset.identifier),
    )


def unknown_target(flow: Flow) -> AnalysisError:
    """A flow that writes what the pipeline does not define."""
    return without_condition(
        f"Unsupported destination {'.'.join(flow.target)} in flow: {flow.full_name} at"
        " transformDownNodes",
        hint="Define the target with create_streaming_table() or create_sink().",
        origin=flow.origin,
    )


def circular(downstream: Identifier, upstream: Identifier, origin: Origin | None) -> AnalysisError:
    """Two data sets that read each other."""
    down, up = ".".join(downstream), ".".join(upstream)
    return without_condition(
        f"The downstream table '{down}' is referenced when creating the upstream table or view"
        f" '{up}'. Circular dependencies are not supported in a pipeline. Please remove the"
        f" dependency between '{up}' and '{down}'.",
        hint="Let one of them read what the other reads.",
        origin=origin,
    )


def several_queries(dataset: Dataset, flows: Sequence[Flow]) -> AnalysisError:
    """A materialized view has one query."""
    names = ", ".join(sorted(flow.full_name for flow in flows))
    return refusal(
        "MATERIALIZED_VIEW_WITH_MULTIPLE_QUERIES",
        origin=dataset.origin,
        tableName=dataset.full_name,
        flows=names,
    )


def several_change_flows(dataset: Dataset, flows: Sequence[Flow]) -> AnalysisError:
    """The target of an AUTO CDC flow has no other flow."""
    names = ", ".join(sorted(flow.full_name for flow in flows))
    return refusal(
        "AUTOCDC_MULTIPLE_FLOWS_TO_TARGET",
        origin=flows[-1].origin,
        tableName=dataset.full_name,
        flows=names,
    )


def unresolved_flows(failed: Iterable[Flow], downstream: Iterable[Flow]) -> AnalysisError:
    """The end of a run in which flows could not be planned."""
    own, below = (", ".join(sorted(f.full_name for f in flows)) for flows in (failed, downstream))
    return without_condition(
        "\nFailed to resolve flows in the pipeline.\n\nA flow can fail to resolve because the flow"
        " itself contains errors or because it reads\nfrom an upstream flow which failed to"
        f" resolve.\n\nFlows with errors: {own}\nFlows that failed due to upstream errors:"
        f" {below}\n\nTo view the exceptions that were raised while resolving these flows, look for"
        " flow\nfailures that precede this log.",
        hint="The errors above name their lines.",
    )


def not_resolved(dataset: Dataset) -> AnalysisError:
    """A flow reads what could not be planned."""
    return without_condition(
        f"Failed to read dataset '{dataset.full_name}'. Dataset is defined in the pipeline but"
        " could not be resolved.",
        hint="Fix that data set's own error.",
    )


def wrong_query_type(kind: str, flow: Flow) -> AnalysisError:
    """A stream where rows at rest belong, or the other way round."""
    target = (
        "viewIdentifier" if kind.endswith("VIEW") and "PERSISTED" in kind else "tableIdentifier"
    )
    return refusal(
        f"INVALID_FLOW_QUERY_TYPE.{kind}",
        origin=flow.origin,
        flowIdentifier=to_sql_id(flow.identifier),
        **{target: to_sql_id(flow.target)},
    )


def incompatible_view_read(name: str, *, streaming_view: bool) -> AnalysisError:
    """A view of a stream read at rest, or the other way round."""
    condition, other = (
        ("INCOMPATIBLE_STREAMING_VIEW_READ", "readStream")
        if streaming_view
        else ("INCOMPATIBLE_BATCH_VIEW_READ", "read")
    )
    return refusal(
        condition,
        hint=f"Read it with spark.{other}.table('{name}').",
        datasetIdentifier=to_sql_id(name),
    )


def schemas_differ(dataset: Dataset, so_far: StructType, other: StructType) -> AnalysisError:
    """Flows of one table whose columns have different types."""
    return refusal(
        "UNABLE_TO_INFER_PIPELINE_TABLE_SCHEMA",
        origin=dataset.origin,
        tableName=dataset.full_name,
        inferredDataSchema=tree_string(so_far),
        incompatibleDataSchema=f"{tree_string(other)}\n",
    )


def declared_differs(dataset: Dataset, declared: StructType, inferred: StructType) -> AnalysisError:
    """A declared schema that the query's columns do not fit."""
    note = ""
    if dataset.kind.registered_as == "TABLE" and dataset.kind == "streaming table":
        note = (
            '"\nStreaming tables are stateful and remember data that has already been\nprocessed.'
            " If you want to recompute the table from scratch, please full refresh\nthe table.\n"
            "              "
        )
    return refusal(
        "USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE",
        origin=dataset.origin,
        tableName=dataset.full_name,
        streamingTableHint=note,
        specifiedSchema=tree_string(declared),
        inferredDataSchema=f"{tree_string(inferred)}\n",
    )


# --------------------------------------------------------------------------------------- AUTO CDC


def sensitivity(conf: Conf) -> str:
    """How messages call a comparison of names."""
    return "case-sensitive" if conf.case_sensitive else "case-insensitive"


def columns_not_found(
    missing: Sequence[str], known: Sequence[str], of: str, conf: Conf
) -> AnalysisError:
    """Columns that the changes do not have."""
    return refusal(
        "AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA",
        caseSensitivity=sensitivity(conf),
        schemaName=of,
        missingColumns=", ".join(missing),
        availableColumns=", ".join(known),
    )
