"""Running a physical plan on PySpark, micro-batch by micro-batch."""
