"""Which part of a ``.cu`` file is for the host alone."""
