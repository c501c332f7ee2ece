"""Several streams with watermarks of their own: the slowest one counts, unless told otherwise."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import window

spark = SparkSession.builder.appName("Watermarks").getOrCreate()
first = spark.readStream.schema("time TIMESTAMP, value INT").json("first")
second = spark.readStream.schema("time TIMESTAMP, value INT").json("second")
both = first.withWatermark("time", "1 hour").union(second.withWatermark("time", "2 hours"))
counts = both.groupBy(window("time", "10 minutes")).count()

counts.writeStream.format("console").start()
spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", "max")
counts.writeStream.format("console").start()
