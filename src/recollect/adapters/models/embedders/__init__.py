"""Models that turn text into vectors, local and hosted, behind one port."""
