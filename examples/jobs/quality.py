"""A library's class: its session and settings are handed in by whatever runs it."""

from dataclasses import dataclass

from pydeequ.checks import Check, CheckLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


@dataclass
class Rule:
    column: str
    condition: str


class Job:
    def __init__(self, spark: SparkSession, config):
        self.spark = spark
        self.rules = [Rule("amount", "amount >= 0"), Rule("currency", "length(currency) = 3")]
        self.check = Check(spark, CheckLevel.Warning, config.name)

    def source(self) -> DataFrame:
        schema = "id STRING, amount DOUBLE, currency STRING, at TIMESTAMP"
        return self.spark.readStream.schema(schema).json("/landing/transfers")

    def run(self) -> None:
        bad = F.filter(
            F.array(*[F.when(~F.expr(r.condition), r.column) for r in self.rules]), F.isnotnull
        )
        checked = self.source().withColumn("bad", bad)
        counts = (
            checked.withWatermark("at", "30 minutes")
            .groupBy(F.window("at", "15 minutes"))
            .agg(F.count_if(F.size("bad") > 0).alias("bad"), F.count("*").alias("all"))
        )
        counts.writeStream.queryName("quality").format("delta").start("/gold/quality")
