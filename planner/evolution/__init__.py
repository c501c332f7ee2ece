"""Changed queries: may one go on from a checkpoint, and what differs between two."""
