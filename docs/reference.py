"""Makes the reference pages from the code when mkdocs builds: a hook, named in mkdocs.yml."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pydantic import BaseModel


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """mkdocs' event: the pages are there beside the written ones."""
    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def pages() -> dict[str, str]:
    """The generated pages: name -> Markdown."""
    import stateplan
    import stateplan.testing
    from stateplan.planner.cli import main
    from stateplan.planner.query import Query

    api = [*_functions(stateplan), *_class("stateplan.planner.query.Query", Query)]
    api += _class("stateplan.testing.StreamTest", stateplan.testing.StreamTest)
    return {
        "commands": "\n".join(["# Commands and options", "", *_commands(main, "stateplan")]),
        "description": "\n".join(["# Keys of a description", "", *_keys()]),
        "api": "\n".join(["# Python API", "", *api]),
        "errors": "\n".join(["# Error conditions", "", *_error_conditions()]),
    }


# -------------------------------------------------------------------------------------- commands


def _commands(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    yield from (f"## {name}", "", "```text", command.get_help(context), "```", "")
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _commands(found, f"{name} {inner}")


# ------------------------------------------------------------------------------- error conditions


def _error_conditions() -> Iterator[str]:
    from stateplan.planner.model.conditions import conditions

    yield "What `StateplanError.condition` can be when a query is planned. Conditions that do not"
    yield "start with `STATEPLAN_` are Spark's, with Spark's message."
    yield ""
    for entry in conditions().values():
        if not any(name.startswith(f"{entry.name}.") for name in conditions()):
            state = f" (SQLSTATE {entry.sql_state})" if entry.sql_state else ""
            yield from (f"## {entry.name}", "", "```text", entry.template, "```", "")
            yield from (f"{entry.hint}{state}".strip(), "")


# ----------------------------------------------------------------------------------- descriptions


def _keys() -> Iterator[str]:
    from stateplan.planner.description import Description, SinkDescription, SourceDescription, Step

    for title, model in {
        "A description": Description,
        "One of `sources`": SourceDescription,
        "The `sink`": SinkDescription,
        "One of a scenario's `steps`": Step,
    }.items():
        before, told = _docstring(model)
        yield from (f"## {title}", "", before, "", "| key | value | default | meaning |")
        yield "| --- | --- | --- | --- |"
        for field, info in model.model_fields.items():
            default = (
                ""
                if info.is_required()
                else _code(repr(info.get_default(call_default_factory=True)))
            )
            kind = _code(_type(info.annotation))
            yield f"| `{info.alias or field}` | {kind} | {default} | {told.get(field, '')} |"
        yield ""


def _type(annotation: Any) -> str:
    if isinstance(annotation, type) and not getattr(annotation, "__args__", None):
        return annotation.__name__
    return re.sub(r"(typing|pydantic|stateplan)[\w.]*\.|<class '([\w.]+)'>", r"\2", str(annotation))


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _docstring(model: type[BaseModel]) -> tuple[str, dict[str, str]]:
    """The text before a docstring's attributes, and what it says of each of these."""
    before, _, attributes = inspect.cleandoc(model.__doc__ or "").partition("\nAttributes:\n")
    told: dict[str, str] = {}
    for names, text in re.findall(r"^    ([\w, ]+): (.*(?:\n     .*)*)", attributes, re.MULTILINE):
        for name in names.split(", "):
            told[name] = re.sub(r"\s+", " ", text).removeprefix("the key `schema`: ")
    return before, told


# -------------------------------------------------------------------------------------------- API


def _functions(module: ModuleType) -> Iterator[str]:
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value):
            yield from _entry(f"stateplan.{name}", "", value)
        else:
            yield from _entry(f"stateplan.{name}", str(inspect.signature(value)), value)


def _class(title: str, of: type) -> Iterator[str]:
    yield from _entry(title, str(inspect.signature(of)), of)
    for name, member in vars(of).items():
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if inspect.isfunction(member):
            yield from _entry(name, str(inspect.signature(member)), member, level=3)
        elif isinstance(member, property):
            yield from _entry(name, "", member, level=3)


def _entry(name: str, signature: str, of: object, level: int = 2) -> Iterator[str]:
    yield from ("#" * level + f" {name}", "")
    if signature:
        yield from ("```python", f"{name.rpartition('.')[2]}{signature}", "```", "")
    yield from ("```text", inspect.getdoc(of) or "", "```", "")
