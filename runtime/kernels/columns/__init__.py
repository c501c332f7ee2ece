"""Arrow columns: order and equality of their values, floats in one form, elements of lists."""
