"""Session windows, with a gap that is fixed or depends on the row."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("Sessions").getOrCreate()
events = spark.readStream.schema("userId STRING, timestamp TIMESTAMP").json("events")
late = events.withWatermark("timestamp", "10 minutes")

fixed = late.groupBy(F.session_window("timestamp", "5 minutes"), "userId").count()
fixed.writeStream.format("console").start()

gap = F.when(F.col("userId") == "user1", "5 seconds").when(F.col("userId") == "user2", "20 seconds")
session = F.session_window("timestamp", gap.otherwise("5 minutes"))
by_user = late.groupBy(session, "userId").count()
by_user.writeStream.format("console").start()
