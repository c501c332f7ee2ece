"""Types and schemas, and the texts that they are read from."""
