"""Totals per customer, saved by a function of each batch: read what there is, then end."""

import argparse
import logging
import sqlite3

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
parser.add_argument("--folder", required=True, help="where orders, totals and the checkpoint are")
folder = parser.parse_args().folder

spark = (
    SparkSession.builder.master("local[2]")
    .appName("totals")
    .config("spark.sql.shuffle.partitions", "4")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("WARN")

orders = [("o1", "ann", 20), ("o2", "bob", 5), ("o3", "ann", 1), ("o3", "ann", 1)]
frame = spark.createDataFrame(orders, "id STRING, customer STRING, amount INT")
frame.write.mode("overwrite").json(f"{folder}/orders")


def save(totals: DataFrame, batch_id: int) -> None:
    """Put a batch's totals into a database, in the place of the customer's older one."""
    rows = [(row.customer, row.total) for row in totals.collect()]
    with sqlite3.connect(f"{folder}/totals.db") as database:
        database.execute("CREATE TABLE IF NOT EXISTS totals (customer PRIMARY KEY, total)")
        database.executemany("INSERT OR REPLACE INTO totals VALUES (?, ?)", rows)
    logging.getLogger("totals").info("batch %s: %s customers", batch_id, len(rows))


stream = spark.readStream.schema(frame.schema).json(f"{folder}/orders")
totals = stream.dropDuplicates(["id"]).filter("amount > 0")
query = (
    totals.groupBy("customer")
    .agg(F.sum("amount").alias("total"))
    .writeStream.outputMode("complete")
    .foreachBatch(save)
    .option("checkpointLocation", f"{folder}/checkpoint")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
