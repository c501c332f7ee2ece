"""How plans, expressions, constants and schemas are written."""
