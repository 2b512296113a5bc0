"""Arrays, memory and streams of other libraries, by the protocols they offer."""
