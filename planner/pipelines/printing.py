"""A pipeline's graph as text, JSON, Mermaid and Graphviz."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...physical.explain.tree import MERMAID_ENTITIES
from ..explaining import explain
from ..model.expressions.core import Origin
from .model import Dataset, DatasetKind, Flow, Pipeline, Read

_MERMAID = {
    DatasetKind.STREAMING_TABLE: '[("{}")]',
    DatasetKind.MATERIALIZED_VIEW: '["{}"]',
    DatasetKind.TEMPORARY_VIEW: '(["{}"])',
    DatasetKind.PERSISTED_VIEW: '(["{}"])',
    DatasetKind.SINK: '[/"{}"/]',
}
_DOT = {
    DatasetKind.STREAMING_TABLE: "cylinder",
    DatasetKind.MATERIALIZED_VIEW: "box",
    DatasetKind.TEMPORARY_VIEW: "ellipse",
    DatasetKind.PERSISTED_VIEW: "ellipse",
    DatasetKind.SINK: "parallelogram",
}
JSON_VERSION = 1


def place(origin: Origin | None) -> str:
    """`job.py:12`, or nothing."""
    return "" if origin is None else f"{origin.file}:{origin.line}"


def flow_title(pipeline: Pipeline, flow: Flow) -> str:
    """`job.py:12: flow 'clean', stream in append mode, to streaming table clean`."""
    start = place(flow.origin)
    target = pipeline.target_of(flow)
    to = f", to {target.kind} {target.name}" if target is not None else ""
    return f"{start + ': ' if start else ''}flow '{flow.name}', {_manner(flow)}{to}"


def _manner(flow: Flow) -> str:
    if flow.auto_cdc is not None:
        return f"AUTO CDC ({flow.auto_cdc.text})"
    return "stream in append mode" if flow.streaming else "batch"


def graph_text(pipeline: Pipeline) -> str:
    """Each data set with its flows, and what these read."""
    lines = [f"-- {_title(pipeline)}"]
    for dataset in pipeline.datasets:
        where = place(dataset.origin)
        lines.append(f"{dataset.name}: {_kind(dataset)}{f'  ({where})' if where else ''}")
        for flow in pipeline.flows_of(dataset):
            name = "" if flow.name == dataset.name else f"flow '{flow.name}' "
            change = f", {_manner(flow)}" if flow.auto_cdc is not None else ""
            reads = ", ".join(map(_read, flow.reads)) or "no table or stream"
            lines.append(f"    {name}reads {reads}{change}")
    return "\n".join(lines) + "\n"


def _title(pipeline: Pipeline) -> str:
    sets, flows = len(pipeline.datasets), len(pipeline.flows)
    called = f"pipeline '{pipeline.name}'" if pipeline.name else "pipeline"
    return f"{called}: {sets} data set{'s' * (sets != 1)}, {flows} flow{'s' * (flows != 1)}"


def _kind(dataset: Dataset) -> str:
    parts = [dataset.kind.value]
    if dataset.format:
        parts.append(f"of {dataset.format}")
    if dataset.partitioning:
        parts.append(f"partitioned by {', '.join(dataset.partitioning)}")
    if dataset.clustering:
        parts.append(f"clustered by {', '.join(dataset.clustering)}")
    return " ".join(parts)


def _read(read: Read) -> str:
    return f"stream {read.name}" if read.streaming else read.name


def graph_document(pipeline: Pipeline) -> dict[str, Any]:
    """The graph as JSON's values, with the plan of each flow that has one."""
    return {
        "version": JSON_VERSION,
        "pipeline": pipeline.name,
        "datasets": [
            {
                "name": dataset.name,
                "kind": dataset.kind.value,
                "format": dataset.format,
                "comment": dataset.comment,
                "partitioning": list(dataset.partitioning),
                "clustering": list(dataset.clustering),
                "place": place(dataset.origin),
            }
            for dataset in pipeline.datasets
        ],
        "flows": [_flow_document(pipeline, flow) for flow in pipeline.flows],
    }


def _flow_document(pipeline: Pipeline, flow: Flow) -> dict[str, Any]:
    target = pipeline.target_of(flow)
    found: dict[str, Any] = {
        "name": flow.name,
        "target": None if target is None else target.name,
        "streaming": flow.streaming,
        "auto_cdc": None if flow.auto_cdc is None else flow.auto_cdc.text,
        "place": place(flow.origin),
        "reads": [
            {"name": read.name, "streaming": read.streaming, "within_pipeline": read.within}
            for read in flow.reads
        ],
    }
    if flow.execution is not None:
        found["plan"] = json.loads(explain(flow.execution, "json"))
    return found


def edges(pipeline: Pipeline) -> Iterator[tuple[str, str, Flow, Read]]:
    """Names of source and target of each arrow, with its flow and what that reads."""
    for flow in pipeline.flows:
        target = pipeline.target_of(flow)
        if target is not None:
            yield from ((read.name, target.name, flow, read) for read in flow.reads)


def nodes(pipeline: Pipeline) -> list[tuple[str, DatasetKind | None]]:
    """What the graph shows: sources from outside first, then the data sets."""
    found: dict[str, DatasetKind | None] = {
        name: None for name, _, _, read in edges(pipeline) if not read.within
    }
    found.update((dataset.name, dataset.kind) for dataset in pipeline.datasets)
    return list(found.items())


def graph_mermaid(pipeline: Pipeline) -> str:
    """A flowchart from the sources to what is written; dotted arrows read at rest."""
    found = nodes(pipeline)
    numbers = {name: number for number, (name, _) in enumerate(found)}
    lines = ["flowchart LR"]
    for name, kind in found:
        text = name if kind is None else f"{name}<br>{kind}"
        box = '{{{{"{}"}}}}' if kind is None else _MERMAID[kind]
        shown = "<br>".join(part.translate(MERMAID_ENTITIES) for part in text.split("<br>"))
        lines.append(f"    d{numbers[name]}{box.format(shown)}")
    for source, target, flow, read in edges(pipeline):
        label = "" if flow.name == target else f"|{flow.name.translate(MERMAID_ENTITIES)}|"
        arrow = "-->" if read.streaming else "-.->"
        lines.append(f"    d{numbers[source]} {arrow}{label} d{numbers[target]}")
    return "\n".join(lines)


def graph_dot(pipeline: Pipeline) -> str:
    """The graph in Graphviz's language; dashed arrows read at rest."""
    found = nodes(pipeline)
    numbers = {name: number for number, (name, _) in enumerate(found)}
    lines = ["digraph pipeline {", "    rankdir=LR"]
    for name, kind in found:
        text = (name if kind is None else f"{name}\\n{kind}").replace('"', '\\"')
        shape = "hexagon" if kind is None else _DOT[kind]
        lines.append(f'    d{numbers[name]} [label="{text}", shape={shape}]')
    for source, target, flow, read in edges(pipeline):
        style = "solid" if read.streaming else "dashed"
        name = flow.name.replace('"', '\\"')
        label = "" if flow.name == target else f', label="{name}"'
        lines.append(f"    d{numbers[source]} -> d{numbers[target]} [style={style}{label}]")
    return "\n".join([*lines, "}"])
