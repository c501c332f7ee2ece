"""Settings of the jobs: from the environment, with defaults."""

import os

BROKERS = os.environ.get("KAFKA_BROKERS", "localhost:9092")
LAKE = os.getenv("LAKE", "s3a://shop-lake")
WATERMARK = "10 minutes"


def table_path(layer: str, name: str) -> str:
    return f"{LAKE}/{layer}/{name}"
