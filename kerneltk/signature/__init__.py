"""Parameter lists, and the types and shapes that arguments give them."""
