"""The whole query in SQL over views."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("clicks").getOrCreate()
spark.readStream.table("bronze_events").withWatermark("ts", "10 minutes").createOrReplaceTempView(
    "events"
)
spark.sql("CREATE OR REPLACE TEMP VIEW purchases AS SELECT * FROM events WHERE kind = 'purchase'")
counts = spark.sql(
    """
    SELECT w.start AS minute, kind, count(*) AS purchases
    FROM (SELECT window(ts, '1 minute') AS w, kind FROM purchases)
    GROUP BY w, kind
    """
)
counts.writeStream.outputMode("append").format("memory").queryName("purchases_per_minute").start()
