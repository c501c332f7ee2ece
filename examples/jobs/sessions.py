"""Visits: clicks of a user with less than a gap between them, which is longer on a phone."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("visits").getOrCreate()
clicks = spark.readStream.schema("user STRING, device STRING, page STRING, at TIMESTAMP").json(
    "clicks"
)
gap = F.when(F.col("device") == "phone", "30 minutes").otherwise("10 minutes")
visits = (
    clicks.withWatermark("at", "1 hour")
    .groupBy("user", F.session_window("at", gap))
    .agg(F.count("*").alias("pages"), F.approx_count_distinct("page").alias("distinct_pages"))
)
visits.writeStream.format("parquet").option("checkpointLocation", "c").start("visits")
