"""Graphs as they are launched: kernels, their order, and what a call executes."""
