"""Selections, projections and aggregations over a stream of files, in Python and in SQL."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("BasicOperations").getOrCreate()
devices = (
    spark.readStream.schema("device STRING, deviceType STRING, signal DOUBLE, time TIMESTAMP")
    .option("maxFilesPerTrigger", 1)
    .json("devices")
)

strong = devices.select("device").where("signal > 10")
strong.writeStream.format("console").start()

by_type = devices.groupBy("deviceType").count()
by_type.writeStream.outputMode("update").format("console").start()

devices.createOrReplaceTempView("devices")
averages = spark.sql("SELECT deviceType, avg(signal) AS mean FROM devices GROUP BY deviceType")
averages.writeStream.outputMode("complete").format("memory").queryName("averages").start()
