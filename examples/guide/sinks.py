"""Where results go: files, a table, Kafka's form, foreachBatch, foreach; and triggers."""

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col, struct, to_json

spark = SparkSession.builder.appName("Sinks").getOrCreate()
rates = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
even = rates.where(col("value") % 2 == 0)


def write(batch: DataFrame, batch_id: int) -> None:
    batch.persist()
    batch.write.mode("append").parquet("twice/a")
    batch.write.mode("append").parquet("twice/b")
    batch.unpersist()


def send(row: Row) -> None:
    print(row.value)


even.writeStream.option("checkpointLocation", "checkpoint/a").start("out/even")
even.writeStream.option("checkpointLocation", "checkpoint/b").toTable("even_numbers")
even.select(to_json(struct("timestamp", "value")).alias("value")).writeStream.format("noop").start()
even.writeStream.trigger(processingTime="10 seconds").foreachBatch(write).start()
even.writeStream.trigger(availableNow=True).foreach(send).start()
even.groupBy(col("value") % 10).count().writeStream.outputMode("update").foreachBatch(write).start()
