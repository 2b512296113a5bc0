"""Inline PTX as C++ for CPU cores."""
