"""The latest position of each vehicle into PostgreSQL, each event once."""

import psycopg2
from psycopg2.extras import execute_values
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

UPSERT = """
INSERT INTO positions (vehicle, lat, lon, at) VALUES %s
ON CONFLICT (vehicle) DO UPDATE SET lat = EXCLUDED.lat, lon = EXCLUDED.lon, at = EXCLUDED.at
"""


def write(batch: DataFrame, batch_id: int) -> None:
    latest = batch.groupBy("vehicle").agg(F.max_by(F.struct("lat", "lon", "at"), "at").alias("p"))
    rows = [(r.vehicle, r.p.lat, r.p.lon, r.p["at"]) for r in latest.collect()]
    if not rows:
        return
    with psycopg2.connect("dbname=fleet") as connection, connection.cursor() as cursor:
        execute_values(cursor, UPSERT, rows)


spark = SparkSession.builder.appName("positions").getOrCreate()
positions = (
    spark.readStream.schema("event STRING, vehicle STRING, lat DOUBLE, lon DOUBLE, at TIMESTAMP")
    .option("maxFilesPerTrigger", 20)
    .json("/data/fleet/positions")
)
query = (
    positions.withWatermark("at", "5 minutes")
    .dropDuplicatesWithinWatermark(["event"])
    .writeStream.foreachBatch(write)
    .option("checkpointLocation", "/data/fleet/checkpoint")
    .start()
)
query.awaitTermination()
