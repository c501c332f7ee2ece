"""Files that our own code reads exactly as Spark does, by format."""
