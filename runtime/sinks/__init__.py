"""Where micro-batches go."""
