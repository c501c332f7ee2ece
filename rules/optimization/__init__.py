"""The logical rewrites that show in Spark's physical plan."""
