"""The versioned state store."""
