"""Spark's settings that change what is read from files.

Spark heeds them all. Our own readers and the embedded engine's read as without them: a query that
sets one otherwise is read by Spark, or is refused by the setting's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...planner.model.settings.conf import Conf

_FILES = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.sources.validatePartitionColumns": "true",
}
_TIMES = {"spark.sql.legacy.timeParserPolicy": "CORRECTED"}
_TEXT = {**_FILES, "spark.sql.execution.datasources.hadoopLineRecordReader.enabled": "true"}
_NAMES = {"spark.sql.caseSensitive": "false"}
READING: Mapping[str, Mapping[str, str]] = {
    "json": {
        **_TEXT,
        **_TIMES,
        "spark.sql.columnNameOfCorruptRecord": "_corrupt_record",
        "spark.sql.json.enableExactStringParsing": "true",
        "spark.sql.json.enablePartialResults": "true",
        "spark.sql.legacy.json.allowEmptyString.enabled": "false",
        "spark.sql.legacy.json.enableDateTimeParsingFallback": "",
    },
    "csv": {
        **_TEXT,
        **_TIMES,
        **_NAMES,  # of a header's columns
        "spark.sql.columnNameOfCorruptRecord": "_corrupt_record",
        "spark.sql.csv.filterPushdown.enabled": "true",
        "spark.sql.csv.parser.columnPruning.enabled": "true",
        "spark.sql.legacy.csv.enableDateTimeParsingFallback": "",
    },
    "text": _TEXT,
    "parquet": {
        **_FILES,
        **_NAMES,
        "spark.sql.legacy.parquet.nanosAsLong": "false",
        "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": "false",
        "spark.sql.parquet.binaryAsString": "false",
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.enableVectorizedReader": "true",
        "spark.sql.parquet.fieldId.read.enabled": "false",
        "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
        "spark.sql.parquet.int96AsTimestamp": "true",
        "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.int96TimestampConversion": "false",
    },
    "orc": {**_FILES, **_NAMES, "spark.sql.orc.impl": "native"},
}
"""By format: the settings, and the value (of any case) with which files are read as without them.

An empty one: there is none, Spark decides by others.
"""


def changed_settings(format: str, conf: Conf) -> Iterator[tuple[str, str]]:
    """The settings of a query that change what is read from files of a format: names and values."""
    for name, usual in READING.get(format, {}).items():
        value = conf.settings.get(name, usual)
        if value.strip().upper() != usual.upper():
            yield name, value


def reads_as_usual(format: str, setting: Callable[[str, str], str]) -> bool:
    """Whether the settings leave it to the files and options alone what Spark reads.

    Args:
        format: of the files, one that READING knows.
        setting: gives a setting's value by its name; its second argument where it is not set.
    """
    usual = READING[format].items()
    return all(setting(name, value).strip().upper() == value.upper() for name, value in usual)
