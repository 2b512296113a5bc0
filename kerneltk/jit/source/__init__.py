"""A Python function's source and scope."""
