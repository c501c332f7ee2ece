"""What arrives, and what is published."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()
LANDING = os.environ.get("LANDING", "/data/landing")
dp.create_streaming_table("orders", comment="Orders of both shops")


def orders_of(shop: str) -> DataFrame:
    schema = "order_id STRING, customer_id BIGINT, placed_at TIMESTAMP, total DOUBLE"
    files = spark.readStream.schema(schema).json(f"{LANDING}/{shop}")
    return files.select("*", F.lit(shop).alias("shop"))


@dp.append_flow(target="orders")
def web_orders() -> DataFrame:
    return orders_of("web")


@dp.append_flow(target="orders", name="store_orders")
def of_stores() -> DataFrame:
    return orders_of("store")


@dp.table
def customer_changes() -> DataFrame:
    schema = "id BIGINT, name STRING, city STRING, op STRING, seq BIGINT"
    return spark.readStream.schema(schema).json(f"{LANDING}/customers")


@dp.temporary_view
def large_orders() -> DataFrame:
    return spark.readStream.table("orders").where("total > 1000")


@dp.table(partition_cols=["shop"], spark_conf={"spark.sql.shuffle.partitions": "2"})
def first_orders() -> DataFrame:
    """The first order of every customer."""
    return spark.readStream.table("orders").dropDuplicates(["customer_id"])


dp.create_sink("large_order_topic", "kafka", {"topic": "large-orders"})


@dp.append_flow(target="large_order_topic")
def publish() -> DataFrame:
    large = spark.readStream.table("large_orders")
    return large.select(F.to_json(F.struct("*")).alias("value"))
