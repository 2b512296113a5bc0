"""Which loop runs: pure functions of shapes, strides and addresses."""
