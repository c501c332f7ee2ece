"""A running balance per account, forgotten after a day without a booking."""

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

spark = SparkSession.builder.appName("balances").getOrCreate()
bookings = spark.readStream.schema("account STRING, amount DOUBLE, at TIMESTAMP").json(
    "/data/bookings"
)


def balance(key, batches, state: GroupState):
    if state.hasTimedOut:
        state.remove()
        return
    (total,) = state.get if state.exists else (0.0,)
    for batch in batches:
        total += float(batch["amount"].sum())
    state.update((total,))
    state.setTimeoutDuration(24 * 60 * 60 * 1000)
    yield pd.DataFrame({"account": [key[0]], "balance": [total]})


balances = bookings.groupBy("account").applyInPandasWithState(
    balance,
    "account STRING, balance DOUBLE",
    "total DOUBLE",
    "update",
    GroupStateTimeout.ProcessingTimeTimeout,
)
balances.writeStream.outputMode("update").format("console").start().awaitTermination()
