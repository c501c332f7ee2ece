"""`stateplan explain` for scripts, notebooks and folders of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from .cli_options import settings
from .model.catalog import Catalog
from .model.errors import DescriptionError
from .model.settings.conf import Conf

if TYPE_CHECKING:
    from .connect.console import Console
    from .connect.script.program import Program


def explain_scripts(
    program: Program,
    *,
    mode: str,
    catalog: Catalog,
    conf: Sequence[str],
    advice: bool,
    env: Sequence[str],
    env_file: str | None,
    write_catalog: str | None,
    html: str | None,
) -> int:
    """Explain a file, or one after the other every file of a folder; gives the exit status.

    Raises:
        DescriptionError: there is no such file, or no script in the folder.
    """
    path = Path(program.path)
    if not path.exists():
        raise DescriptionError.of("STATEPLAN_FILE_NOT_FOUND", file=path)
    from .connect.script.process import LAUNCH, ScriptProcess

    variables = {**_env_file(env_file), **settings(env)}
    with ExitStack() as processes:

        def start() -> ScriptProcess:
            return processes.enter_context(ScriptProcess(LAUNCH, variables))

        ready = start()  # before the imports that take a second here, too
        from .connect import needed

        with needed("A PySpark script"):
            from .connect.console import Console
            from .connect.script.explain import explain_script, programs_of

        programs = programs_of(program)
        if not programs:
            raise DescriptionError.of("STATEPLAN_NO_STREAM_IN_FOLDER", path=path)
        consoles = [Console(mode, advice=advice) for _ in programs]
        status = 0
        for number, (each, console) in enumerate(zip(programs, consoles, strict=True), 1):
            process = ready
            if number < len(programs):
                ready = start()  # it imports while this file runs
            if len(programs) > 1:
                print(f"== {each.path}", flush=True)
            ended = explain_script(
                each,
                console,
                catalog=catalog,
                conf=Conf(settings(conf)),
                process=process,
                write_catalog=write_catalog,
            )
            status = max(status, ended)
    sys.stdout.flush()
    if html is not None:
        _write_page(html, path.resolve().name, consoles)
    return status


def _write_page(file: str, title: str, consoles: Sequence[Console]) -> None:
    """The page of all that was shown."""
    from .pages.pipeline_page import pipeline_html
    from .pages.plan_page import explain_page, view_of
    from .pages.shell import write_page

    graphs = "".join(pipeline_html(one) for console in consoles for one in console.pipelines)
    shown = (plan for console in consoles for plan in console.shown)
    views = [view_of(execution, name) for name, execution in shown]
    write_page(file, explain_page(title, views, graphs))


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
