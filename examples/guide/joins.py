"""Joins: of a stream with a table, and of two streams."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import broadcast, expr

spark = SparkSession.builder.appName("Joins").getOrCreate()
products = spark.read.schema("adId BIGINT, product STRING").json("products")
impressions = spark.readStream.schema("adId BIGINT, impressionTime TIMESTAMP").json("impressions")
clicks = spark.readStream.schema("clickAdId BIGINT, clickTime TIMESTAMP").json("clicks")

# With a table: no state.
impressions.join(products, "adId").writeStream.format("console").start()
impressions.join(broadcast(products), "adId", "left_outer").writeStream.format("console").start()

# Of two streams: without a time condition all of both is remembered.
impressions.join(clicks, expr("adId = clickAdId")).writeStream.format("console").start()

# The time condition and the watermarks say when a row has no partner to come.
shown = impressions.withWatermark("impressionTime", "2 hours")
clicked = clicks.withWatermark("clickTime", "3 hours")
condition = expr(
    "clickAdId = adId"
    " AND clickTime >= impressionTime AND clickTime <= impressionTime + interval 1 hour"
)
for how in ("inner", "leftOuter", "rightOuter", "fullOuter", "leftSemi"):
    shown.join(clicked, condition, how).writeStream.format("console").start()
