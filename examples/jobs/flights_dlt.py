"""Flights from bronze to gold, with the older names."""

import dlt
from pyspark.sql import functions as F

LANDING = spark.conf.get("flights.landing", "/Volumes/flights/landing")


@dlt.table(comment="As it arrives", table_properties={"quality": "bronze"})
def flights_raw():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "csv")
        .schema("flight STRING, carrier STRING, scheduled TIMESTAMP, delay DOUBLE")
        .load(LANDING)
    )


@dlt.view
@dlt.expect_or_drop("scheduled", "scheduled IS NOT NULL")
@dlt.expect_all({"carrier": "carrier IS NOT NULL", "delay": "delay < 1440"})
def flights_clean():
    flights = dlt.read_stream("flights_raw").withColumn("carrier", F.upper("carrier"))
    return flights.select(*[c for c in flights.columns if not c.startswith("_")])


@dlt.table(name="delays_per_hour")
def delays():
    return (
        dlt.read_stream("flights_clean")
        .withWatermark("scheduled", "1 hour")
        .groupBy(F.window("scheduled", "1 hour"), "carrier")
        .agg(F.avg("delay").alias("mean_delay"))
    )


@dlt.table
def carriers():
    return dlt.read("flights_raw").groupBy("carrier").agg(F.max("scheduled").alias("last_seen"))


dlt.create_streaming_table("latest_flights")
dlt.apply_changes(
    target="latest_flights",
    source="flights_raw",
    keys=["flight"],
    sequence_by=F.col("scheduled"),
    stored_as_scd_type=1,
)
