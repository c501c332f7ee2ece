"""Physical operators, distributions, state info and the printers."""
