"""Five failed payments of one card within two minutes: a message to another topic."""

import os

import structlog
from dotenv import load_dotenv
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, from_json, struct, to_json, window

load_dotenv()
log = structlog.get_logger()

BROKERS = os.environ["KAFKA_BROKERS"]
THRESHOLD = int(os.getenv("ALERT_THRESHOLD", "5"))

spark = SparkSession.builder.appName("alerts").master("spark://spark-master:7077").getOrCreate()

payments = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("kafka.security.protocol", "SASL_SSL")
    .option("subscribe", "payments")
    .load()
    .select(
        from_json(col("value").cast("string"), "card STRING, ok BOOLEAN, at TIMESTAMP").alias("p")
    )
    .select("p.*")
)

alerts = (
    payments.filter(~col("ok"))
    .withWatermark("at", "1 minute")
    .groupBy(window("at", "2 minutes", "30 seconds"), "card")
    .agg(count("*").alias("failures"))
    .where(col("failures") >= THRESHOLD)
    .select(col("card").alias("key"), to_json(struct("window", "failures")).alias("value"))
)

log.info("starting", threshold=THRESHOLD)
(
    alerts.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "card-alerts")
    .option("checkpointLocation", "/var/lib/alerts/checkpoint")
    .outputMode("update")
    .start()
    .awaitTermination()
)
