"""The decorators, and the kernels that they make."""
