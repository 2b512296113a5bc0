"""Python statements and expressions to typed IR."""
