"""`stateplan explain` for scripts, notebooks and folders of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .cli_options import settings
from .model.errors import DescriptionError


def explain_scripts(
    path: str,
    arguments: Sequence[str],
    mode: str,
    catalog: Any,
    conf: Sequence[str],
    *,
    env: Sequence[str],
    env_file: str | None,
    python_path: Sequence[str],
    strict_imports: bool,
    call: str | None,
    into_batches: bool,
    timeout: float,
    write_catalog: str | None,
    advice: bool,
    html: str | None,
) -> int:
    """Explain a file, or one after the other every file of a folder; gives the exit status.

    Raises:
        DescriptionError: there is no such file, or no script in the folder.
    """
    if not Path(path).exists():
        raise DescriptionError.of("STATEPLAN_FILE_NOT_FOUND", file=path)
    from .connect import needed

    with needed("A PySpark script"):
        from .connect.script.explain import explain_script, programs_of
    from .connect.script.program import Program
    from .model.settings.conf import Conf
    from .pages.pipeline_page import pipeline_html
    from .pages.plan_page import PlanView, explain_page
    from .pages.shell import write_page
    from .pipelines.model import Pipeline

    program = Program(
        path=path,
        arguments=arguments,
        python_path=python_path,
        strict_imports=strict_imports,
        call=call,
        into_batches=into_batches,
        timeout=timeout,
    )
    programs = programs_of(path, program)
    if not programs:
        raise DescriptionError.of("STATEPLAN_NO_STREAM_IN_FOLDER", path=path)
    variables = {**_env_file(env_file), **settings(env)}
    status = 0
    views: list[PlanView] = []
    pipelines: list[Pipeline] = []
    for program in programs:
        if len(programs) > 1:
            print(f"== {program.path}", flush=True)
        ended = explain_script(
            program,
            catalog=catalog,
            conf=Conf(settings(conf)),
            mode=mode,
            advice=advice,
            environment=variables,
            write_catalog=write_catalog,
            views=views,
            pipelines=pipelines,
        )
        status = max(status, ended)
    sys.stdout.flush()
    if html is not None:
        graphs = "".join(map(pipeline_html, pipelines))
        write_page(html, explain_page(Path(path).resolve().name, views, graphs))
    return status


def _env_file(path: str | None) -> dict[str, str]:
    """The variables of a file as shells and Docker write them."""
    if path is None:
        return {}
    from .description import read_text

    found = {}
    for line in read_text(Path(path)).splitlines():
        key, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not key.startswith("#"):
            found[key.strip()] = value.strip().strip("\"'")
    return found
