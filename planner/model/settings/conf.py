"""Settings of a query, with Spark's names and defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from ..errors import SettingError
from ..frozen import dataclass

NO_DATA_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
SEVERAL_STATEFUL = "spark.sql.streaming.statefulOperator.allowMultiple"
DEFAULTS: dict[str, str] = {
    "spark.sql.shuffle.partitions": "200",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.wholeStage.union.enabled": "true",
    "spark.sql.codegen.maxFields": "100",
    "spark.sql.debug.maxToStringFields": "25",
    "spark.sql.streaming.aggregation.stateFormatVersion": "2",
    "spark.sql.streaming.sessionWindow.stateFormatVersion": "1",
    "spark.sql.streaming.join.stateFormatVersion": "2",
    "spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition": "false",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    NO_DATA_BATCHES: "true",
    "spark.sql.streaming.statefulOperator.useStrictDistribution": "true",
    "spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "true",
    SEVERAL_STATEFUL: "true",
    "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled": "true",
    "spark.sql.sources.default": "parquet",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.orc.mergeSchema": "false",
    "spark.sql.streaming.schemaInference": "false",
    "spark.sql.autoBroadcastJoinThreshold": "10MB",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.groupByAliases": "true",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.legacy.allowHashOnMapType": "false",
    "spark.sql.legacy.lpadRpadAlwaysReturnString": "false",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "true",
    "spark.sql.optimizer.excludedRules": "",
    "spark.sql.optimizer.inSetConversionThreshold": "10",
    "spark.sql.optimizer.collapseProjectAlwaysInline": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.operatorPipeSyntaxEnabled": "true",
    "spark.sql.parser.singleCharacterPipeOperator.enabled": "true",
    "spark.sql.adaptive.forceApply": "false",
    "spark.sql.legacy.integerGroupingId": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.execution.topKSortFallbackThreshold": str(2**31 - 1 - 15),
    "spark.sql.constraintPropagation.enabled": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.maxMetadataStringLength": "100",
    "spark.sql.execution.useHashAggregateExec": "true",
    "spark.sql.execution.useObjectHashAggregateExec": "true",
    "spark.sql.streaming.stateStore.encodingFormat": "unsaferow",
    "spark.sql.adaptive.streaming.stateless.enabled": "true",
    "spark.sql.optimizeNullAwareAntiJoin": "true",
    "spark.sql.optimizer.disableHints": "false",
    "spark.sql.optimizer.enableJsonExpressionOptimization": "true",
    "spark.sql.optimizer.enableCsvExpressionOptimization": "true",
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "true",
    "spark.sql.optimizer.expression.nestedPruning.enabled": "true",
    "spark.sql.optimizer.propagateDistinctKeys.enabled": "true",
    "spark.sql.json.filterPushdown.enabled": "true",
    "spark.sql.csv.filterPushdown.enabled": "true",
}

_SIZE = re.compile(r"(-?\d+)(b|kb?|mb?|gb?|tb?)?")
_SHIFTS = {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def _mismatch(key: str, value: str, kind: str, hint: str) -> SettingError:
    return SettingError.of(
        "INVALID_CONF_VALUE.TYPE_MISMATCH", hint=hint, confValue=value, confName=key, confType=kind
    )


def option_text(value: object) -> str:
    """The value of a setting or an option as Spark's clients send it: a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Conf(Mapping[str, str]):
    """A query's settings: what was set, over Spark's defaults. Unknown settings are kept."""

    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Mapping[str, object] | None) -> Conf:
        """Settings as users give them: `4` and `True` may stand for their texts."""
        return cls({key: option_text(value) for key, value in (settings or {}).items()})

    def __getitem__(self, key: str) -> str:
        return self.settings[key] if key in self.settings else DEFAULTS[key]

    def __iter__(self) -> Iterator[str]:
        return iter({**DEFAULTS, **self.settings})

    def __len__(self) -> int:
        return len({**DEFAULTS, **self.settings})

    def updated(self, more: Mapping[str, str]) -> Conf:
        """These settings with others over them."""
        return Conf({**self.settings, **more})

    def flag(self, key: str) -> bool:
        """A boolean setting.

        Raises:
            SettingError: the value is neither true nor false.
        """
        value = self[key].strip().lower()
        if value not in ("true", "false"):
            raise _mismatch(key, self[key], "boolean", f"Set {key} to true or false.")
        return value == "true"

    def integer(self, key: str) -> int:
        """A whole-number setting.

        Raises:
            SettingError: the value is not a whole number.
        """
        try:
            return int(self[key])
        except ValueError:
            raise _mismatch(key, self[key], "int", f"Set {key} to a whole number.") from None

    def size(self, key: str) -> int:
        """A setting in bytes: a number, or one with b, k, m, g or t behind it (`10MB`).

        Raises:
            SettingError: the value is no such size.
        """
        found = _SIZE.fullmatch(self[key].strip().lower())
        if found is None:
            hint = f"Set {key} to a number of bytes, or to a size such as 10MB."
            raise _mismatch(key, self[key], "bytes in BYTE", hint)
        number, unit = found.groups()
        return int(number) << _SHIFTS[(unit or "b")[0]]

    @property
    def shuffle_partitions(self) -> int:
        """The number of state stores of each operator.

        Raises:
            SettingError: it is no positive whole number.
        """
        key = "spark.sql.shuffle.partitions"
        number = self.integer(key)
        if number < 1:
            raise SettingError.of(
                "INVALID_CONF_VALUE.REQUIREMENT",
                hint=f"Set {key} to 1 or more.",
                confValue=self[key],
                confName=key,
                confRequirement=f"The value of {key} must be positive",
            )
        return number

    @property
    def ansi(self) -> bool:
        return self.flag("spark.sql.ansi.enabled")

    @property
    def case_sensitive(self) -> bool:
        return self.flag("spark.sql.caseSensitive")

    @property
    def fold(self) -> Callable[[str], str]:
        """Gives a name as it is compared with others."""
        return str if self.case_sensitive else str.lower

    @property
    def time_zone(self) -> str:
        return self["spark.sql.session.timeZone"]
