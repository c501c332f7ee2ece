"""JSON values and records one by one, as Spark's JacksonParser takes them."""
