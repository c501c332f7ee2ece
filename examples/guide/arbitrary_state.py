"""State of one's own: how long a user has been active, by applyInPandasWithState."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

spark = SparkSession.builder.appName("ArbitraryState").getOrCreate()
events = spark.readStream.schema("user STRING, time TIMESTAMP").json("events")


def sessions(
    key: tuple[Any, ...], batches: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        (count,) = state.get
        state.remove()
        yield pd.DataFrame({"user": [key[0]], "events": [count]})
        return
    count = sum(map(len, batches)) + (state.get[0] if state.exists else 0)
    state.update((count,))
    state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 600_000)


counts = (
    events.withWatermark("time", "10 minutes")
    .groupBy("user")
    .applyInPandasWithState(
        sessions,
        "user STRING, events BIGINT",
        "count BIGINT",
        "append",
        GroupStateTimeout.EventTimeTimeout,
    )
)
counts.writeStream.format("console").start()
