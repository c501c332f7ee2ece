# Databricks notebook source
# MAGIC %md
# MAGIC # Orders per country, for the dashboard

# COMMAND ----------
# MAGIC %pip install great-expectations

# COMMAND ----------
dbutils.widgets.text("source", "/Volumes/main/landing/orders")
dbutils.widgets.dropdown("mode", "append", ["append", "complete"])
source = dbutils.widgets.get("source")
token = dbutils.secrets.get("shop", "api-token")

# COMMAND ----------
from pyspark.sql import functions as F

orders = (
    spark.readStream.format("cloudFiles")
    .option("cloudFiles.format", "json")
    .option("cloudFiles.schemaLocation", f"{source}/_schema")
    .schema("order_id STRING, country STRING, placed_at TIMESTAMP, total DOUBLE")
    .load(source)
    .withWatermark("placed_at", "1 hour")
)
orders.createOrReplaceTempView("orders")

# COMMAND ----------
# MAGIC %sql
# MAGIC SELECT country, count(*) AS orders FROM orders GROUP BY country

# COMMAND ----------
daily = orders.groupBy(F.window("placed_at", "1 day"), "country").agg(F.sum("total").alias("total"))
daily.writeStream.outputMode(dbutils.widgets.get("mode")).option(
    "checkpointLocation", "/Volumes/main/gold/_checkpoints/daily"
).trigger(availableNow=True).toTable("main.gold.daily_orders")
