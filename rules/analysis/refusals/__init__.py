"""What an analyzed plan may not hold."""
