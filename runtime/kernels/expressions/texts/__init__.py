"""Functions of texts, regular expressions and formats."""
