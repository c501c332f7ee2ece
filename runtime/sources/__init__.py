"""Where micro-batches come from."""
