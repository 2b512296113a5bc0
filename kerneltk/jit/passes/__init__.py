"""Analyses and rewrites of the IR."""
