"""Hash functions of Arrow columns: Spark's own, and those of sketches."""
