"""Two queries over one source, with a listener, until one of them fails."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQueryListener


class Progress(StreamingQueryListener):
    def onQueryStarted(self, event):
        print("started", event.name)

    def onQueryProgress(self, event):
        print(event.progress.batchId, event.progress.numInputRows)

    def onQueryIdle(self, event):
        pass

    def onQueryTerminated(self, event):
        print("ended", event.exception)


spark = SparkSession.builder.appName("sensors").config("spark.driver.memory", "4g").getOrCreate()
spark.streams.addListener(Progress())
spark.conf.set(
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)

readings = (
    spark.readStream.option("header", True)
    .schema("sensor STRING, at TIMESTAMP, temperature DOUBLE, humidity DOUBLE")
    .csv("/data/readings")
    .withWatermark("at", "15 minutes")
)
hourly = readings.groupBy(F.window("at", "1 hour"), "sensor").agg(
    F.avg("temperature").alias("mean"), F.stddev("temperature").alias("deviation")
)
hourly.writeStream.queryName("hourly").format("parquet").option("path", "/data/hourly").option(
    "checkpointLocation", "/data/checkpoints/hourly"
).start()

broken = readings.where((F.col("temperature") < -40) | (F.col("humidity") > 100))
broken.writeStream.queryName("broken").format("console").option("truncate", False).start()

spark.streams.awaitAnyTermination()
