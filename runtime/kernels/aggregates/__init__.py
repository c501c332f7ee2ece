"""What aggregate functions keep of values, how two such buffers merge, and what they give."""
