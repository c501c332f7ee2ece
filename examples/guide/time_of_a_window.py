"""Windows of windows, and a join of two windowed aggregations: chained stateful operators."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import sum as total
from pyspark.sql.functions import window, window_time

spark = SparkSession.builder.appName("TimeOfAWindow").getOrCreate()
words = spark.readStream.schema("timestamp TIMESTAMP, word STRING").json("words")
counts = (
    words.withWatermark("timestamp", "10 minutes")
    .groupBy(window("timestamp", "10 minutes", "5 minutes"), "word")
    .count()
)

# The time of a window is its last moment.
hourly = counts.groupBy(window(window_time("window"), "1 hour"), "word").agg(total("count"))
hourly.writeStream.format("console").start()

# A window's column may be grouped by as if it were a time.
daily = counts.groupBy(window("window", "1 day"), "word").agg(total("count"))
daily.writeStream.format("console").start()

clicks = spark.readStream.schema("clickTime TIMESTAMP, clickWord STRING").json("clicks")
clicked = (
    clicks.withWatermark("clickTime", "20 minutes")
    .groupBy(window("clickTime", "10 minutes", "5 minutes"), "clickWord")
    .count()
    .withColumnRenamed("count", "clicked")
)
counts.join(clicked, "window", "inner").writeStream.format("console").start()
