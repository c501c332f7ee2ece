"""Changed customers from a Delta change feed, merged into a table of another catalog."""

from delta.tables import DeltaTable
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("customers").enableHiveSupport().getOrCreate()
TARGET = "main.crm.customers_current"


def merge(batch, batch_id):
    newest = Window.partitionBy("id").orderBy(F.desc("updated_at"))
    changes = batch.withColumn("n", F.row_number().over(newest)).where("n = 1").drop("n")
    target = DeltaTable.forName(spark, TARGET)
    (
        target.alias("t")
        .merge(changes.alias("c"), "t.id = c.id")
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute()
    )


(
    spark.readStream.table("main.crm.customers")
    .withColumn("city", F.initcap("city"))
    .writeStream.foreachBatch(merge)
    .option("checkpointLocation", "dbfs:/checkpoints/customers")
    .trigger(availableNow=True)
    .start()
)
