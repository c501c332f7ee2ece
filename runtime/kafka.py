"""What Kafka's source and sink share: the client and its settings, through librdkafka."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..planner.model.errors import DescriptionError, RuntimeFailure
from .options import Options

BOOTSTRAP = "kafka.bootstrap.servers"
PREFIX = "kafka."
_QUIET = {"log_level": "3"}  # what ends well is no line on the user's screen


def client() -> Any:
    """The module `confluent_kafka`.

    Raises:
        RuntimeFailure: it is not installed.
    """
    try:
        import confluent_kafka
    except ImportError:
        raise RuntimeFailure(
            "STATEPLAN_PACKAGE_MISSING",
            "Kafka needs the package 'confluent-kafka', which is not installed here.",
            hint="Install it: pip install 'stateplan[kafka]'.",
        ) from None
    return confluent_kafka


def client_settings(options: Options, *, who: str, refused: Iterable[str]) -> dict[str, str]:
    """The options behind `kafka.`, as librdkafka has them.

    Args:
        options: all options.
        who: `consumer` or `producer`.
        refused: settings that are not the user's to set.

    Raises:
        DescriptionError: a setting is refused, or no servers are named.
    """
    given = {
        key.lower()[len(PREFIX) :]: value
        for key, value in options.written.items()
        if key.lower().startswith(PREFIX)
    }
    for name in refused:
        if name in given:
            raise DescriptionError(
                "STATEPLAN_BAD_OPTION",
                f"Kafka option '{name}' is not supported.",
                hint=_REASONS.get(name, f"Remove '{PREFIX}{name}'."),
            )
    if "bootstrap.servers" not in given:
        raise DescriptionError(
            "STATEPLAN_BAD_OPTION",
            f"Option '{BOOTSTRAP}' must be specified for configuring Kafka {who}.",
            hint=f"Set {BOOTSTRAP}: host:port,...",
        )
    return _QUIET | given


_REASONS = {
    "auto.offset.reset": "Set the source option 'startingOffsets' to 'earliest' or 'latest': it "
    "holds for a new query, and a restart goes on where the query ended.",
    "key.deserializer": "Keys come as bytes: cast them in the query.",
    "value.deserializer": "Values come as bytes: cast them in the query.",
    "key.serializer": "Give the key as a string or bytes: cast it in the query.",
    "value.serializer": "Give the value as a string or bytes: cast it in the query.",
}


def opened(kind: Any, settings: Mapping[str, Any]) -> Any:
    """A client of a class of `confluent_kafka`.

    Raises:
        DescriptionError: librdkafka refuses a setting.
    """
    try:
        return kind(dict(settings))
    except client().KafkaException as problem:
        raise DescriptionError(
            "STATEPLAN_BAD_OPTION",
            f"Kafka's client refuses a setting: {problem.args[0].str()}.",
            hint="The options behind 'kafka.' are librdkafka's, mostly those of the Java client: "
            "see its CONFIGURATION.md.",
        ) from None


def not_reached(what: str, problem: object) -> RuntimeFailure:
    """The error for brokers that do not answer."""
    return RuntimeFailure(
        "STATEPLAN_KAFKA_NOT_REACHED",
        f"Kafka does not answer {what}: {problem}.",
        hint=f"Check {BOOTSTRAP}, the network and the credentials; then start the query again.",
    )
