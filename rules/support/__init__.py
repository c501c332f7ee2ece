"""What streaming does not support, refused for each output mode as Spark refuses it."""
