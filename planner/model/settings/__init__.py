"""Settings of a query: names, defaults, values that Spark refuses."""
