"""Language models that read memories for the concept graph."""
