"""Values: constants and typed expressions, and what is computed with them."""
