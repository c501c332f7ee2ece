"""Runs the files of a Declarative Pipeline: their definitions go to the planner, which plans them.

PySpark's own client code sends them, as `spark-pipelines dry-run` does. What Databricks has besides
(`dlt_names`) is there where a pipeline's files rely on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.pipelines import cli
from pyspark.pipelines.add_pipeline_analysis_context import add_pipeline_analysis_context
from pyspark.pipelines.block_session_mutations import block_session_mutations
from pyspark.pipelines.graph_element_registry import graph_element_registration_context
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run

from ..protocol import DATABRICKS, NAME
from .context import session
from .dlt_names import DltNames
from .program import Program

_STORAGE = "file:///stateplan"


class _Counting(SparkConnectGraphElementRegistry):
    """PySpark's own, which knows whether something has been defined."""

    defined = False

    def register_output(self, output: Any) -> None:
        """A data set."""
        self.defined = True
        super().register_output(output)

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        """Statements that define data sets."""
        self.defined = True
        super().register_sql(sql_text, file_path)


class PipelineRun:
    """One pipeline.

    Args:
        program: its file, or the files that define it.
        run_file: runs a file of Python code or a notebook.
        note: prints a note for the user.
        report: prints an error after which the rest is planned.
    """

    def __init__(
        self,
        program: Program,
        run_file: Callable[[str], None],
        note: Callable[[str], None],
        report: Callable[[Exception], None],
    ) -> None:
        self.program = program
        self.run_file = run_file
        self.note = note
        self.report = report
        self._registry: Any = None
        self._names: Any = None
        self._errors: list[Exception] = []

    def run(self, defined: Callable[[], None]) -> None:
        """Define everything, then plan it.

        Args:
            defined: is called behind the files' own definitions; it may add some.

        Raises:
            PySparkException: a definition or the graph is refused.
            Exception: a function that defines a data set fails; the others are planned.
        """
        files, pipeline, settings = self._described()
        spark = session(settings)
        own = {**settings, NAME: pipeline.get("name", "")}
        if self.program.databricks:
            own[DATABRICKS] = "true"
        graph = create_dataflow_graph(
            spark,
            default_catalog=pipeline.get("catalog"),
            default_database=pipeline.get("database"),
            sql_conf=own,
        )
        self._registry = _Counting(spark, graph)
        self._names = names = DltNames(self._registry, spark, graph, self.note)
        if self.program.databricks:
            names.provide()
        with graph_element_registration_context(self._registry):
            for file in files:
                self._define(file, spark, graph)
            defined()
            names.define()
        storage = pipeline.get("storage", _STORAGE)
        errors = [*self._errors, *names.errors()]
        try:
            for _ in start_run(spark, graph, [], False, [], dry=True, storage=storage):
                pass  # events: the planner prints what there is to say
        except PySparkException as refusal:
            errors.append(refusal)
        for error in errors[:-1]:
            self.report(error)
        if errors:
            raise errors[-1]

    @property
    def defined(self) -> bool:
        """Whether the files have defined anything."""
        return bool(self._registry.defined or self._names.defined)

    def register_sql(self, text: str) -> None:
        """Statements of a notebook's cell."""
        self._registry.register_sql(text, Path(self.program.path))

    def _described(self) -> tuple[list[str], dict[str, Any], dict[str, str]]:
        """The pipeline's files, what its own file says of it, and its settings."""
        if not self.program.is_spec:
            folder = Path(self.program.path)
            name = folder.stem if folder.is_file() else folder.resolve().name
            return list(self.program.definitions), {"name": name}, {}
        path = Path(self.program.path)
        spec = cli.load_pipeline_spec(path)
        root = path.parent.resolve()
        files: dict[str, None] = {}
        for library in spec.libraries:
            for file in sorted(root.glob(library.include)):
                if file.is_file() and "__pycache__" not in file.parts:
                    files.setdefault(str(file))
        os.chdir(root)
        described = {
            "name": spec.name,
            "storage": spec.storage,
            "catalog": spec.catalog,
            "database": spec.database,
        }
        return list(files), described, dict(spec.configuration)

    def _define(self, file: str, spark: Any, graph: str) -> None:
        if file.endswith(".sql"):
            text = Path(file).read_text(encoding="utf-8-sig")
            try:
                self._registry.register_sql(text, Path(file))
            except PySparkException as error:
                if not self.program.databricks:
                    raise
                self._errors.append(error)  # what other files define is planned all the same
        elif file.endswith(".py") or (file.endswith(".ipynb") and not self.program.is_spec):
            try:
                with self._reading(spark, graph):
                    self.run_file(file)
            except Exception as error:
                self._errors.append(error)
        else:
            raise PySparkException(
                errorClass="PIPELINE_UNSUPPORTED_DEFINITIONS_FILE_EXTENSION",
                messageParameters={"file_path": file},
            )

    @contextmanager
    def _reading(self, spark: Any, graph: str) -> Iterator[None]:
        """While definitions are read, code may not change the session, but Databricks' may."""
        context = add_pipeline_analysis_context(
            spark=spark, dataflow_graph_id=graph, flow_name=None
        )
        blocked: Any = nullcontext() if self.program.databricks else block_session_mutations()
        with context, blocked:
            yield
