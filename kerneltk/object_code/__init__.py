"""What is read from object code: symbols, types of parameters."""
