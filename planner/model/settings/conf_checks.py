"""Which values Spark refuses for the settings that plans depend on, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import SettingError
from ..text.quoting import in_quotes
from ..text.time_zones import zone
from .conf import DEFAULTS, Conf
from .pinned import WATERMARK_POLICY

Check = Callable[[Conf, str], object]

_STREAMING = "spark.sql.streaming."
_TWO = "Valid versions are 1 and 2"
_VERSIONS = {
    "aggregation": (("1", "2"), _TWO),
    "flatMapGroupsWithState": (("1", "2"), _TWO),
    "join": (("1", "2", "3", "4"), "Valid versions are 1, 2, 3, and 4"),
    "sessionWindow": (("1",), "Valid version is 1"),
}
_ZONE = "spark.sql.session.timeZone"
_STATIC = frozenset(
    f"spark.sql.{name}"
    for name in (
        *("cache.serializer", "catalogImplementation", "codegen.cache.maxEntries"),
        *("codegen.comments", "debug", "event.truncate.length", "extensions"),
        *("broadcastExchange.maxThreadThreshold", "filesourceTableRelationCacheSize"),
        *("globalTempDatabase", "metadataCacheTTLSeconds", "queryExecutionListeners"),
        *("shuffleExchange.maxThreadThreshold", "sources.schemaStringLengthThreshold"),
        *("streaming.streamingQueryListeners", "streaming.ui.enabled"),
        *("streaming.ui.enabledCustomMetricList", "streaming.ui.retainedProgressUpdates"),
        *("streaming.ui.retainedQueries", "subquery.maxThreadThreshold"),
        *("ui.retainedExecutions", "warehouse.dir"),
    )
)
_OF_THE_APPLICATION = frozenset(
    f"spark.{name}"
    for name in (
        *("cores.max", "driver.cores", "driver.memory"),
        *("driver.maxResultSize", "dynamicAllocation.enabled", "executor.cores"),
        *("executor.instances", "executor.memory", "eventLog.enabled", "io.compression.codec"),
        *("jars", "locality.wait", "memory.fraction", "memory.storageFraction"),
        *("rdd.compress", "serializer", "shuffle.compress", "speculation", "submit.deployMode"),
        *("task.cpus", "task.maxFailures", "ui.enabled", "ui.port"),
    )
)


def check_settings(conf: Conf, *, at_start: bool = False) -> None:
    """Refuse what was set to a value that Spark does not take.

    Args:
        conf: the settings.
        at_start: they are those of an application's start, where any may be set.

    Raises:
        SettingError: INVALID_CONF_VALUE with the reason.
    """
    for key in conf.settings:
        if not at_start:
            _check_changeable(key)
        check = _CHECKS.get(key)
        if check is not None:
            check(conf, key)


def _check_changeable(key: str) -> None:
    """Some settings are those of the whole application."""
    if key in _STATIC:
        raise SettingError.of("CANNOT_MODIFY_STATIC_CONFIG", key=in_quotes(key))
    if key in _OF_THE_APPLICATION:
        raise SettingError.of("CANNOT_MODIFY_CONFIG", key=in_quotes(key))


def _check_zone(conf: Conf, key: str) -> None:
    try:
        zone(conf[key])
    except (KeyError, ValueError, OSError):
        raise _refused("TIME_ZONE", conf, key) from None


def _one_of(values: tuple[str, ...], reason: str) -> Check:
    def check(conf: Conf, key: str) -> None:
        if conf[key].strip().lower() not in values:
            raise _refused("REQUIREMENT", conf, key, confRequirement=reason)

    return check


def _refused(case: str, conf: Conf, key: str, /, **parameters: Any) -> SettingError:
    return SettingError.of(
        f"INVALID_CONF_VALUE.{case}",
        hint=f"The default is {DEFAULTS.get(key, 'another')}.",
        confValue=conf[key],
        confName=key,
        **parameters,
    )


def _checks() -> dict[str, Check]:
    found: dict[str, Check] = {}
    for key, default in DEFAULTS.items():
        if default in ("true", "false"):
            found[key] = lambda conf, key: conf.flag(key)
        elif default.isdigit():
            found[key] = lambda conf, key: conf.integer(key)
        elif default.endswith("MB"):
            found[key] = lambda conf, key: conf.size(key)
    for name, (values, reason) in _VERSIONS.items():
        found[f"{_STREAMING}{name}.stateFormatVersion"] = _one_of(values, reason)
    reason = f"Invalid value for '{WATERMARK_POLICY}'. Valid values are 'min' and 'max'"
    found[WATERMARK_POLICY] = _one_of(("min", "max"), reason)
    found[_ZONE] = _check_zone
    found["spark.sql.shuffle.partitions"] = lambda conf, key: conf.shuffle_partitions
    return found


_CHECKS = _checks()
