"""Revenue per ten minutes and product, from orders in Kafka to a Delta table."""

import argparse
import logging
import sys

from delta import configure_spark_with_delta_pip
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from shop import settings
from shop.schemas import ORDER

log = logging.getLogger("orders")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--topic", default="orders")
    parser.add_argument("--trigger", type=int, required=True, help="seconds")
    parser.add_argument("--starting", choices=["earliest", "latest"], default="latest")
    return parser.parse_args()


def session() -> SparkSession:
    builder = (
        SparkSession.builder.appName("orders")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.shuffle.partitions", "48")
        .config("spark.ui.port", "4050")
        .config("spark.hadoop.fs.s3a.path.style.access", "true")
    )
    return configure_spark_with_delta_pip(builder).getOrCreate()


def parsed(raw: DataFrame) -> DataFrame:
    order = F.from_json(F.col("value").cast("string"), ORDER).alias("order")
    return raw.select("timestamp", order).select("order.*").where("order_id IS NOT NULL")


def revenue(orders: DataFrame) -> DataFrame:
    return (
        orders.withWatermark("placed_at", settings.WATERMARK)
        .withColumn("item", F.explode("items"))
        .groupBy(F.window("placed_at", "10 minutes"), F.col("item.product_id").alias("product_id"))
        .agg(F.sum("item.quantity").alias("sold"), F.sum("total").alias("revenue"))
    )


def main() -> int:
    logging.basicConfig(level=logging.INFO)
    args = arguments()
    spark = session()
    spark.sparkContext.setLogLevel("WARN")
    raw = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.BROKERS)
        .option("subscribe", args.topic)
        .option("startingOffsets", args.starting)
        .load()
    )
    query = (
        revenue(parsed(raw))
        .writeStream.format("delta")
        .queryName("revenue")
        .outputMode("append")
        .option("checkpointLocation", settings.table_path("checkpoints", "revenue"))
        .trigger(processingTime=f"{args.trigger} seconds")
        .start(settings.table_path("gold", "revenue"))
    )
    log.info("started %s", query.id)
    query.awaitTermination()
    return 0


if __name__ == "__main__":
    sys.exit(main())
