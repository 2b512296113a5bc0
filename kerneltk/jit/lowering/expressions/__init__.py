"""Expressions of Python's syntax tree."""
