"""What all operations stand on: columns of values, Java's forms of them, Spark's messages."""
