"""What is in the topics."""

from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

ITEM = StructType([StructField("product_id", LongType()), StructField("quantity", LongType())])
ORDER = StructType(
    [
        StructField("order_id", StringType(), nullable=False),
        StructField("customer_id", LongType()),
        StructField("placed_at", TimestampType()),
        StructField("total", DoubleType()),
        StructField("items", ArrayType(ITEM)),
    ]
)
