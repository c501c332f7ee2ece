"""Settings that a query keeps for its whole life, whatever a later session says."""

from __future__ import annotations

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
STATE_ENCODING = "spark.sql.streaming.stateStore.encodingFormat"
WATERMARK_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"

# What the offset log holds, with Spark's values where a query does not set them. Spark 4.3's list,
# in its order.
PINNED: dict[str, str] = {
    PROVIDER: "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.formatVersion": "5",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "false",
    STATE_ENCODING: "unsaferow",
    "spark.sql.streaming.statefulOperator.useStrictDistribution": "true",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "2",
    WATERMARK_POLICY: "min",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "false",
    "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled": "true",
    "spark.sql.streaming.aggregation.stateFormatVersion": "2",
    "spark.sql.function.protobufExtensions.enabled": "false",
    SHUFFLE_PARTITIONS: "200",
    "spark.sql.streaming.join.stateFormatVersion": "2",
    "spark.sql.streaming.stateStore.compression.codec": "lz4",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": "false",
}

# What Spark takes for a setting that an older version did not write into the log.
BEFORE_PINNED: dict[str, str] = {
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "1",
    WATERMARK_POLICY: "min",
    "spark.sql.streaming.aggregation.stateFormatVersion": "1",
    "spark.sql.streaming.join.stateFormatVersion": "1",
    "spark.sql.streaming.stateStore.compression.codec": "lz4",
    "spark.sql.streaming.statefulOperator.useStrictDistribution": "false",
    STATE_ENCODING: "unsaferow",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": "true",
}
