"""Window operations on event time: sliding windows, with and without a watermark."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import explode, split, window

spark = SparkSession.builder.appName("Windows").getOrCreate()
lines = (
    spark.readStream.format("socket")
    .option("host", "localhost")
    .option("port", 9999)
    .option("includeTimestamp", True)
    .load()
)
words = lines.select(explode(split(lines.value, " ")).alias("word"), lines.timestamp)

# Without a watermark every window is kept for good.
counts = words.groupBy(window(words.timestamp, "10 minutes", "5 minutes"), words.word).count()
counts.writeStream.outputMode("complete").format("console").start()

# With one, a window leaves the state when nothing can come for it any more.
counts = (
    words.withWatermark("timestamp", "10 minutes")
    .groupBy(window("timestamp", "10 minutes", "5 minutes"), "word")
    .count()
)
counts.writeStream.outputMode("update").format("console").start()
counts.writeStream.outputMode("append").format("console").start()
