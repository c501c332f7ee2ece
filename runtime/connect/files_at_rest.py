"""Files at rest that a client reads on the embedded engine: as the files of streams are read.

Sail takes fewer options of CSV and JSON than Spark, finds other types in files whose schema nobody
gives, and no types in the names of folders. So these reads are our own readers', in a script's
batch code as in what a stream is joined with; what those do not read is left to the engine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql.connect import proto

from ...planner.connect.columns import refuse_duplicates
from ...planner.connect.places import Message
from ...planner.connect.types import read_schema
from ...planner.model.errors import AnalysisError, RuntimeFailure
from ...planner.model.formats import fixed_schema
from ...planner.model.schemas.schema_json import type_from_json
from ...planner.model.schemas.types import STRING, StructField, StructType
from ...planner.model.settings.conf import Conf
from ..engines.embedded_files import OwnFiles, embedded_uri
from ..engines.embedded_folders import FolderColumns, engine_rows, with_folder_columns
from ..engines.embedded_rows import RowCrossing
from ..engines.local_rows import LocalRows
from ..engines.reader_settings import changed_settings
from ..failures import innermost
from ..files import local_path
from ..kernels.errors import NOT_EXACT, KernelError
from ..kernels.readers.csv_options import UnsupportedOption, csv_options
from ..kernels.readers.formats import FILE_READERS
from ..kernels.writers.folders import folder_texts
from ..listing import FoundFile, base_path
from ..options import Options
from ..output_log import SINK_LOG, found_files
from ..plan.facts import Reader
from ..protocol import parts as parts_of
from ..sources.inferred_csv import (
    column_names,
    first_values,
    inferred_from_texts,
    without_lines,
)
from ..sources.inferred_json import inferred_from_json
from ..sources.tables import FilesTable
from .messages import relation_of, replace_relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LISTING = ("path", "pathglobfilter", "recursivefilelookup", "basepath")
"""Options, in lower case, that say which files are read, not how."""
_INFERENCE = (
    *("inferschema", "samplingratio", "preferdate"),
    *("prefersdecimal", "dropfieldifallnull", "primitivesasstring"),
)
_OTHER_TYPES = (("prefersDecimal", "true"), ("preferDate", "false"))
"""Values of options with which Spark finds other columns than we do."""
_OF_RECORDS = {
    "csv": (
        *("encoding", "charset", "linesep", "multiline"),
        *("comment", "sep", "delimiter", "quote", "escape", "chartoescapequoteescaping"),
        *("mode", "ignoreleadingwhitespace", "ignoretrailingwhitespace"),
    ),
    "json": ("encoding", "charset", "linesep", "multiline"),
    "text": ("encoding", "linesep", "wholetext"),
}
"""Options, in small letters, that say what a record is; the engine does not heed them as Spark."""
_ANY = StructType((StructField("any", STRING),))
_NAMES = {"csv": "CSV", "json": "JSON", "text": "Text", "orc": "ORC", "parquet": "Parquet"}
Inferred = dict[tuple[Any, ...], tuple[Sequence[FoundFile], StructType]]
"""By paths and options: the files, and the columns that were found in them."""


@dataclass(frozen=True)
class ChosenFiles(FilesTable):
    """Some files of one format.

    Attributes:
        files: their paths.
        base: the directory below which folders' names have values of columns, if they may.
    """

    files: Sequence[str] = ()
    base: Path | None = None

    @property
    def paths(self) -> list[str]:
        return list(self.files)

    @property
    def reader(self) -> Reader:
        return Reader(format=self.format, schema=self.schema, options=self.options, base=self.base)


class FilesAtRest:
    """The reads of files of a client's session.

    Args:
        spark: the session on the engine.
        conf: its settings.
        inferred: takes the columns that were found in files.
    """

    def __init__(self, spark: SparkSession, conf: Conf, inferred: Inferred) -> None:
        self._spark = spark
        self._conf = conf
        self._inferred = inferred
        self._rows = RowCrossing(spark)

    @staticmethod
    def are_read(message: Any) -> bool:
        """Whether something in a message reads files at rest."""
        if isinstance(message, proto.Relation) and _reads_files(message):
            return True
        return any(map(FilesAtRest.are_read, parts_of(message)))

    def put(self, message: Any) -> None:
        """Put rows that our own code reads in the places of reads of files.

        Raises:
            StateplanError: something about the files is unusable.
        """
        if not isinstance(message, proto.Relation) or not _reads_files(message):
            for part in parts_of(message):
                self.put(part)
            return
        table = self.table(message)
        if table is not None:
            replace_relation(message, relation_of(self._frame(table)))

    def failure(self) -> RuntimeFailure | None:
        """What our own code raised as it read files: the engine has only its trace."""
        found = next((e for e in self._rows.failures if isinstance(e, KernelError)), None)
        return None if found is None else RuntimeFailure(*innermost(found))

    def let_go(self) -> None:
        """Forget the rows."""
        self._rows.let_go("query")

    def table(self, relation: Message) -> ChosenFiles | None:
        """What a relation reads; None: the engine is to read it.

        Raises:
            StateplanError: something about the files is unusable.
        """
        message = relation.read.data_source
        format_ = (message.format or self._conf["spark.sql.sources.default"]).lower()
        options = Options(dict(message.options), f"the source '{format_}'")
        locations = list(message.paths) or ([options["path"]] if "path" in options else [])
        if not message.format:
            message.format = format_  # the engine wants it named
        if format_ not in _NAMES or not locations:
            return None
        message.paths[:] = locations  # the engine knows no option 'path'
        try:
            places = [str(local_path(location, "the source")) for location in locations]
        except RuntimeFailure:
            return None  # on another file system
        recursive = options.flag("recursiveFileLookup")
        glob = options.get("pathGlobFilter")
        files: list[FoundFile] = []
        base = None if recursive else base_path(options.get("basePath", places[0]))
        for place in places:
            found = found_files(place, recursive=recursive, name_glob=glob)
            if not found and not os.path.exists(place):
                raise AnalysisError.of("PATH_NOT_FOUND", path=f"file:{place}")
            below = None if recursive or "basePath" in options else base_path(place)
            if len(places) > 1 and any(folder_texts(file.path, below) for file in found):
                return None  # the engine is to see whether all have one base
            files += found
        if len(places) > 1 and "basePath" not in options:
            base = None
        is_output = (Path(places[0]) / SINK_LOG).is_dir()
        # Spark reads the largest files first: those say what the columns are.
        paths = tuple(file.path for file in sorted(files, key=lambda file: -file.size))
        if (
            files
            and format_ not in FILE_READERS
            and not (
                is_output
                or any(folder_texts(file.path, base) for file in files)
                or len(_every_file(places, glob)) > len(files)  # Sail would read them all
                or self._of_unlike_files(relation, format_, options, files)
            )
        ):
            return None  # in nothing else Sail differs from Spark
        settings = {
            key: value
            for key, value in message.options.items()
            if key.lower() not in (*_LISTING, *_INFERENCE)
        }
        _check_options(format_, settings)
        chosen = ChosenFiles(places[0], format_, StructType(()), settings, files=paths, base=base)
        schema = self._schema(relation, chosen, options, files)
        if schema is None:
            return None
        refuse_duplicates((field.name for field in schema.fields), self._conf)
        stay = bool(message.schema) and is_output
        columns = with_folder_columns(schema, paths, base, declared_stay=stay)
        chosen = replace(chosen, schema=columns)
        return chosen if self._read_here(chosen) else None

    def _read_here(self, table: ChosenFiles) -> bool:
        reader = table.reader
        if any(changed_settings(table.format, self._conf)):
            return False
        own = FILE_READERS.get(table.format)
        if own is None:
            return bool(table.files)
        return own.unsupported(reader.schema, reader.options) is None

    def _folders(self, table: ChosenFiles) -> FolderColumns:
        return FolderColumns.of(table.paths, table.base, table.schema, self._conf.time_zone)

    def _frame(self, table: ChosenFiles) -> DataFrame:
        if table.format in FILE_READERS:
            return self._local(table).frame

        def read(paths: list[str], columns: StructType) -> DataFrame:
            return table.at(self._spark, list(map(embedded_uri, paths)), columns)

        return engine_rows(read, table.paths, self._folders(table))

    def _local(self, table: ChosenFiles) -> LocalRows:
        files = OwnFiles(
            paths=table.paths,
            reader=table.reader,
            zone=self._conf.time_zone,
            failures=self._rows.failures,
            holder="query",
            folders=self._folders(table),
            parquet={},
        )
        places = range(len(table.schema.fields))
        return self._rows.local_rows(
            files.parts(places, (), encoded=False), files.schema(places), "query"
        )

    # ----------------------------------------------------------------------- columns of the files

    def _schema(
        self, relation: Message, table: ChosenFiles, options: Options, files: Sequence[FoundFile]
    ) -> StructType | None:
        """The columns that are given, or those of the files; None: the engine is to find them."""
        message = relation.read.data_source
        if message.schema:
            return read_schema(message.schema)
        fixed = fixed_schema(table.format, dict(message.options))
        if fixed is not None:
            return fixed
        if not files:
            raise AnalysisError.of("UNABLE_TO_INFER_SCHEMA", format=_NAMES[table.format])
        for name, value in _OTHER_TYPES:
            if options.get(name, "").lower() == value:
                raise RuntimeFailure(
                    NOT_EXACT,
                    "The embedded engine does not infer the schema of files with the option "
                    f"'{name}' = '{value}'.",
                    hint="Give the schema, or run the file on Spark: --engine spark.",
                )
        if table.format not in ("csv", "json"):
            return self._of_the_engine(table.format, self._deciding(table.format, options, files))
        given = sorted(dict(options).items())
        key = (*message.paths, table.format, *given, self._conf.time_zone)
        known, found = self._inferred.get(key, (None, None))
        if known != files:
            infer = self._of_csv if table.format == "csv" else self._of_json
            try:
                found = infer(table, options)
            except KernelError as error:
                raise RuntimeFailure(*innermost(error)) from error
            if found is not None:
                self._inferred[key] = files, found
        return found

    def _deciding(
        self, format_: str, options: Options, files: Sequence[FoundFile]
    ) -> Sequence[FoundFile]:
        """The files of Parquet or ORC that say what the columns are: one, or all are merged."""
        merged = options.flag("mergeSchema", self._conf.flag(f"spark.sql.{format_}.mergeSchema"))
        return files if merged else [min(files, key=lambda file: file.path)]

    def _of_unlike_files(
        self, relation: Message, format_: str, options: Options, files: Sequence[FoundFile]
    ) -> bool:
        """Whether files have columns that the one that decides has not: Sail merges them."""
        message = relation.read.data_source
        if message.schema or fixed_schema(format_, dict(message.options)) is not None:
            return False
        deciding = self._deciding(format_, options, files)
        if len(deciding) == len(files):
            return False
        return self._of_the_engine(format_, files) != self._of_the_engine(format_, deciding)

    def _of_the_engine(self, format_: str, files: Sequence[FoundFile]) -> StructType:
        uris = [embedded_uri(file.path) for file in files]
        known, found = self._inferred.get((format_, *uris), (None, None))
        if found is None or known != files:
            schema = self._spark.read.format(format_).load(uris).schema.jsonValue()
            found = cast(StructType, type_from_json(schema))
            self._inferred[format_, *uris] = files, found
        return found

    def _of_json(self, table: ChosenFiles, options: Options) -> StructType:
        return inferred_from_json(table.paths, options.written)

    def _of_csv(self, table: ChosenFiles, options: Options) -> StructType | None:
        try:
            chosen = csv_options(table.options)
        except UnsupportedOption:
            return None
        first = first_values(table.paths, chosen)
        names = column_names(first, chosen, self._conf["spark.sql.caseSensitive"] == "true")
        texts = StructType(tuple(StructField(name, STRING) for name in names))
        if not options.flag("inferSchema") or not names:
            return texts
        # Values of malformed records, too, and of other files' headers say what type a column has.
        every = {k: v for k, v in table.options.items() if k.lower() not in ("mode", "header")}
        wanted = replace(table, schema=texts, options=every, base=None)
        if not self._read_here(wanted):
            return None
        schema = pa.schema([(name, pa.string()) for name in names])
        batches = [b.cast(schema) for part in self._local(wanted).parts for b in part]
        rows = pa.Table.from_batches(batches, schema)
        if chosen.header:
            rows = without_lines(rows, first, chosen)
        return inferred_from_texts(rows, chosen, self._conf.time_zone)


def _check_options(format_: str, options: Mapping[str, str]) -> None:
    """Refuse options that neither our own code nor the engine heeds, though records depend on them.

    Raises:
        RuntimeFailure: there is one (`STATEPLAN_NOT_EXACT`).
    """
    given = {
        name: value
        for name, value in options.items()
        if name.lower() in _OF_RECORDS.get(format_, ())
        or (format_ == "json" and name.lower().startswith("allow"))
    }
    reason = FILE_READERS[format_].unsupported(_ANY, given) if given else None
    if reason is not None:
        raise RuntimeFailure(
            NOT_EXACT,
            f"The embedded engine does not read {_NAMES[format_]} files as Spark where {reason}.",
            hint="Leave the option out, or run the file on Spark: --engine spark.",
        )


def _every_file(places: Sequence[str], name_glob: str | None) -> list[FoundFile]:
    """The files of all directories below some places, too."""
    return [
        file for place in places for file in found_files(place, recursive=True, name_glob=name_glob)
    ]


def _reads_files(relation: Message) -> bool:
    read = relation.read
    return (
        relation.WhichOneof("rel_type") == "read"
        and read.WhichOneof("read_type") == "data_source"
        and not read.is_streaming
    )
