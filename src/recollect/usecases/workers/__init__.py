"""Background work: embedding and the graph."""
