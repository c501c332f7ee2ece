"""Select lists, and HAVING, ORDER BY and QUALIFY over them."""
