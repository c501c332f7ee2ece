"""Plan, explain, test and run Spark Structured Streaming queries."""
