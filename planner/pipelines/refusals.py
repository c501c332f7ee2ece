"""What Spark refuses of a pipeline, in its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..model.errors import AnalysisError
from ..model.expressions.core import Origin
from ..model.schemas.types import StructType

if TYPE_CHECKING:
    from .model import Dataset, Flow, Identifier


def refusal(
    condition: str | None,
    message: str,
    *,
    state: str = "42000",
    hint: str = "",
    origin: Origin | None = None,
) -> AnalysisError:
    """An error as Spark lays it out, with the line of the definition at fault."""
    text = message if condition is None else f"[{condition}] {message} SQLSTATE: {state}"
    error = AnalysisError(condition, text, hint=hint)
    if origin is not None:
        error.place = f"{origin.file}:{origin.line}"
    return error


def quoted(parts: Iterable[str]) -> str:
    """A name with each part in backticks."""
    return ".".join(f"`{part}`" for part in parts)


# ------------------------------------------------------------------------------------ definitions


def multipart_flow(name: str, origin: Origin | None) -> AnalysisError:
    """A flow's name has one part."""
    return refusal(
        "MULTIPART_FLOW_NAME_NOT_SUPPORTED",
        f"Flow with multipart name '{name}' is not supported.",
        state="0A000",
        hint="Leave the database out of the flow's name.",
        origin=origin,
    )


def duplicate_output(new: Dataset, old: Dataset) -> AnalysisError:
    """Two data sets of one name."""
    return refusal(
        "PIPELINE_DUPLICATE_IDENTIFIERS.OUTPUT",
        "A duplicate identifier was found for elements registered in the pipeline's dataflow graph."
        f" Attempted to register a {new.kind.registered_as} with identifier"
        f" {quoted(new.identifier)}, but a {old.kind.registered_as} has already been registered"
        " with that identifier. Please ensure all outputs created within this pipeline have unique"
        " identifiers.",
        state="42710",
        hint="Give one of them another name; explain a folder's pipelines one by one.",
        origin=new.origin,
    )


def duplicate_flow(flow: Flow, other: Flow) -> AnalysisError:
    """Two flows of one name."""
    return refusal(
        "PIPELINE_DUPLICATE_IDENTIFIERS.FLOW",
        "A duplicate identifier was found for elements registered in the pipeline's dataflow graph."
        f" Flow {flow.full_name} was found in multiple datasets:"
        f" {quoted(other.target)},{quoted(flow.target)}",
        state="42710",
        hint="Give one of the flows another name.",
        origin=flow.origin,
    )


def attempted_analysis() -> AnalysisError:
    """A flow's function asked for columns or rows: its inputs do not exist yet."""
    return refusal(
        "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION",
        "Operations that trigger DataFrame analysis or execution are not allowed in pipeline query"
        " functions. Move code outside of the pipeline query function.",
        state="0A000",
        hint="Leave out .columns, .schema, count() and the like, and applyInPandas.",
    )


def unsupported_command(name: str) -> AnalysisError:
    """`spark.sql` of a statement that is no query, in a pipeline's file."""
    return refusal(
        "UNSUPPORTED_PIPELINE_SPARK_SQL_COMMAND",
        f"'{name}' is not supported in spark.sql(\"...\") API in Spark Declarative Pipeline.",
        state="0A000",
        hint="Define data sets with decorators, or in SQL files of the pipeline.",
    )


def bad_statement(message: str, statement: str, origin: Origin) -> AnalysisError:
    """A statement of an SQL file that defines nothing."""
    return refusal(
        "PIPELINE_SQL_GRAPH_ELEMENT_REGISTRATION_ERROR",
        f"{message}\n\nOffending query:\n{statement}\n\nQuery defined at"
        f" {origin.file}:{origin.line}",
        hint="A pipeline's SQL files hold CREATE STREAMING TABLE, MATERIALIZED VIEW, VIEW and FLOW,"
        " SET and USE.",
        origin=origin,
    )


# ------------------------------------------------------------------------------------------ graph


def empty_pipeline() -> AnalysisError:
    """Nothing that keeps rows."""
    return refusal(
        "RUN_EMPTY_PIPELINE",
        "Pipelines are expected to have at least one non-temporary dataset defined (tables,"
        " persisted views) but no non-temporary datasets were found in your pipeline.\nPlease"
        " verify that you have included the expected source files, and that your source code"
        " includes table definitions (e.g., CREATE MATERIALIZED VIEW in SQL code, @dp.table in"
        " python code).",
        state="42617",
        hint="Look at the globs under libraries in the pipeline's file.",
    )


def without_flow(dataset: Dataset) -> AnalysisError:
    """A table that nothing writes."""
    return refusal(
        "PIPELINE_DATASET_WITHOUT_FLOW",
        f"Pipeline dataset {quoted(dataset.identifier)} does not have any defined flows. Please"
        " attach a query with the dataset's definition, or explicitly define at least one flow that"
        " writes to the dataset.",
        state="0A000",
        hint=f"Write it with @append_flow(target='{dataset.name}').",
        origin=dataset.origin,
    )


def unknown_target(flow: Flow) -> AnalysisError:
    """A flow that writes what the pipeline does not define."""
    return refusal(
        None,
        f"Unsupported destination {'.'.join(flow.target)} in flow: {flow.full_name} at"
        " transformDownNodes",
        hint="Define the target with create_streaming_table() or create_sink().",
        origin=flow.origin,
    )


def circular(downstream: Identifier, upstream: Identifier, origin: Origin | None) -> AnalysisError:
    """Two data sets that read each other."""
    down, up = ".".join(downstream), ".".join(upstream)
    return refusal(
        None,
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
        f"Invalid destination {dataset.full_name} with multiple flows: {names}.",
        hint="Make it a streaming table, or one query with UNION ALL.",
        origin=dataset.origin,
    )


def several_change_flows(dataset: Dataset, flows: Sequence[Flow]) -> AnalysisError:
    """The target of an AUTO CDC flow has no other flow."""
    names = ", ".join(sorted(flow.full_name for flow in flows))
    return refusal(
        "AUTOCDC_MULTIPLE_FLOWS_TO_TARGET",
        f"Invalid AutoCDC destination {dataset.full_name} with multiple flows: {names}. An AutoCDC"
        " target table must have exactly one flow writing to it.",
        hint="Give each flow a table of its own.",
        origin=flows[-1].origin,
    )


def unresolved_flows(failed: Iterable[Flow], downstream: Iterable[Flow]) -> AnalysisError:
    """The end of a run in which flows could not be planned."""
    own, below = (", ".join(sorted(f.full_name for f in flows)) for flows in (failed, downstream))
    return refusal(
        None,
        "\nFailed to resolve flows in the pipeline.\n\nA flow can fail to resolve because the flow"
        " itself contains errors or because it reads\nfrom an upstream flow which failed to"
        f" resolve.\n\nFlows with errors: {own}\nFlows that failed due to upstream errors:"
        f" {below}\n\nTo view the exceptions that were raised while resolving these flows, look for"
        " flow\nfailures that precede this log.",
        hint="The errors above name their lines.",
    )


def not_resolved(dataset: Dataset) -> AnalysisError:
    """A flow reads what could not be planned."""
    return refusal(
        None,
        f"Failed to read dataset '{dataset.full_name}'. Dataset is defined in the pipeline but"
        " could not be resolved.",
        hint="Mend that data set's own error.",
    )


_QUERY_TYPES = {
    "BATCH_RELATION_FOR_STREAMING_TABLE": (
        "Streaming tables may only be defined by streaming relations, but the flow {flow} attempts"
        " to write a batch relation to the streaming table {target}. Consider using the STREAM"
        " operator in Spark-SQL to convert the batch relation into a streaming relation, or"
        " populating the streaming table with an append once-flow instead.",
        "Read with spark.readStream or STREAM, or make it a materialized view.",
    ),
    "STREAMING_RELATION_FOR_MATERIALIZED_VIEW": (
        "Materialized views may only be defined by a batch relation, but the flow {flow} attempts"
        " to write a streaming relation to the materialized view {target}.",
        "Read with spark.read, or make it a streaming table.",
    ),
    "STREAMING_RELATION_FOR_PERSISTED_VIEW": (
        "Persisted views may only be defined by a batch relation, but the flow {flow} attempts to"
        " write a streaming relation to the persisted view {target}.",
        "Make it a temporary view, or leave STREAM out.",
    ),
}


def wrong_query_type(kind: str, flow: Flow) -> AnalysisError:
    """A stream where rows at rest belong, or the other way round."""
    text, hint = _QUERY_TYPES[kind]
    name, target = quoted(flow.identifier), quoted(flow.target)
    said = text.format(flow=name, target=target)
    return refusal(
        f"INVALID_FLOW_QUERY_TYPE.{kind}",
        f"Flow {name} returns an invalid relation type. {said}",
        hint=hint,
        origin=flow.origin,
    )


def incompatible_view_read(name: str, *, streaming_view: bool) -> AnalysisError:
    """A view of a stream read at rest, or the other way round."""
    kind, other = ("streaming", "readStream") if streaming_view else ("batch", "read")
    return refusal(
        f"INCOMPATIBLE_{kind.upper()}_VIEW_READ",
        f"View {quoted([name])} is a {kind} view and must be referenced using"
        f" SparkSession#{other}. This check can be disabled by setting Spark conf"
        " pipelines.incompatibleViewCheck.enabled = false.",
        hint=f"Read it with spark.{other}.table('{name}').",
    )


def schemas_differ(dataset: Dataset, so_far: StructType, other: StructType) -> AnalysisError:
    """Flows of one table whose columns have different types."""
    return refusal(
        "UNABLE_TO_INFER_PIPELINE_TABLE_SCHEMA",
        f"Failed to infer the schema for table {dataset.full_name} from its upstream flows.\nPlease"
        " modify the flows that write to this table to make their schemas compatible.\n\nInferred"
        f" schema so far:\n{tree(so_far)}\n\nIncompatible schema:\n{tree(other)}\n",
        state="42KD9",
        hint="Cast the column in one of the flows.",
        origin=dataset.origin,
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
        f"Table '{dataset.full_name}' has a user-specified schema that is incompatible with the"
        f" schema\ninferred from its query.\n{note}\n\nDeclared schema:\n{tree(declared)}\n\n"
        f"Inferred schema:\n{tree(inferred)}\n",
        hint="Declare the columns that the query gives, or leave the schema out.",
        origin=dataset.origin,
    )


def tree(schema: StructType) -> str:
    """The columns as `printSchema` shows them."""
    from ..model.text.schema_text import tree_string

    return tree_string(schema)


# --------------------------------------------------------------------------------------- AUTO CDC


def _comparison(*, case_sensitive: bool) -> str:
    return (
        f"Using {'case-sensitive' if case_sensitive else 'case-insensitive'} column name comparison"
    )


def columns_not_found(
    missing: Sequence[str], known: Sequence[str], of: str, *, case_sensitive: bool
) -> AnalysisError:
    """Columns that the changes do not have."""
    return refusal(
        "AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA",
        f"{_comparison(case_sensitive=case_sensitive)}, the following columns are not present in"
        f" the {of} schema: {', '.join(missing)}. Available columns: {', '.join(known)}.",
        state="42703",
        hint="Name columns of the source.",
    )


def key_not_selected(key: str, *, case_sensitive: bool) -> AnalysisError:
    """A key that the changes do not have, or that is left out of the target."""
    return refusal(
        "AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA",
        f"{_comparison(case_sensitive=case_sensitive)}, the AutoCDC key column `{key}` is not"
        " present in the flow's selected source schema. AutoCDC requires every key column to be"
        " present in the source change-data feed and retained by any configured column selection.",
        state="22023",
        hint="Name a column of the source that the target keeps.",
    )


def empty_keys() -> AnalysisError:
    """Changes without a key."""
    return refusal(
        "AUTOCDC_EMPTY_KEYS",
        "AutoCDC requires at least one key column to identify rows, but received an empty key set.",
        state="22023",
        hint="Name the columns that identify a row.",
    )


def not_a_column(text: str) -> AnalysisError:
    """An expression where a column is named."""
    return refusal(
        "AUTOCDC_NON_COLUMN_IDENTIFIER",
        f"Expected a column identifier; got the non-attribute expression `{text}`. AutoCDC keys,"
        " sequence_by, column_list, and except_column_list must reference unqualified column"
        " names.",
        state="22023",
        hint="Compute the column in the source.",
    )


def multipart_column(parts: Sequence[str]) -> AnalysisError:
    """A qualified name where a column is named."""
    return refusal(
        "AUTOCDC_MULTIPART_COLUMN_IDENTIFIER",
        "Expected a single column identifier; got the multi-part identifier"
        f" {'.'.join(parts)} (parts: {', '.join(parts)}).",
        state="22023",
        hint="Leave the qualifier out.",
    )
