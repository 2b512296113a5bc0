"""What turns a translation unit into something that runs: one module a backend."""
