"""Files of other programs, read as memories: pure functions, one file per format."""
