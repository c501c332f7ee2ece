"""Names: which column, field, function or argument a name means."""
