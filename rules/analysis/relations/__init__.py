"""FROM: tables, joins, unions, functions, rows of constants."""
