"""What compare_engines.py is made of: cases, values, two engines, the comparison and the table."""
