"""NumPy's functions of whole arrays in a trace: which of them are fused, and how."""
