"""Rows that come twice: without a watermark, with the event time, within the watermark."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("Deduplication").getOrCreate()
events = spark.readStream.schema("guid STRING, eventTime TIMESTAMP, action STRING").json("events")

events.dropDuplicates(["guid"]).writeStream.format("console").start()

late = events.withWatermark("eventTime", "10 seconds")
late.dropDuplicates(["guid", "eventTime"]).writeStream.format("console").start()
late.dropDuplicatesWithinWatermark(["guid"]).writeStream.format("console").start()
