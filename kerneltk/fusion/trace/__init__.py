"""Functions as they are traced: lazy arrays, and the graph of what is done to them."""
