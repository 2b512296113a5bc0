"""Loops of fused functions, as one kernel each."""
