"""From the arguments of a call to its launch."""
