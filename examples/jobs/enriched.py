"""Impressions with the clicks that follow within an hour, and the product's category."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("enriched").getOrCreate()
products = spark.table("products")
impressions = (
    spark.readStream.schema("ad STRING, product_id BIGINT, shown_at TIMESTAMP")
    .parquet("/lake/impressions")
    .withWatermark("shown_at", "2 hours")
)
clicks = (
    spark.readStream.schema("ad STRING, clicked_at TIMESTAMP")
    .parquet("/lake/clicks")
    .withColumnRenamed("ad", "clicked_ad")
    .withWatermark("clicked_at", "3 hours")
)
joined = impressions.join(
    clicks,
    F.expr("ad = clicked_ad AND clicked_at BETWEEN shown_at AND shown_at + INTERVAL 1 HOUR"),
    "leftOuter",
).join(F.broadcast(products), "product_id", "left")
joined.select(
    "ad", "category", "shown_at", F.col("clicked_at").isNotNull().alias("clicked")
).writeStream.toTable("gold.clicks", checkpointLocation="/lake/checkpoints/clicks")
