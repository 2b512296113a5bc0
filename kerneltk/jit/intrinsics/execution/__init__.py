"""Threads, warps, blocks, and the memory that they share."""
