"""Files that our own code writes, as Spark's writers do."""
