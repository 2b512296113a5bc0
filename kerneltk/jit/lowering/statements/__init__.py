"""Statements of Python's syntax tree."""
