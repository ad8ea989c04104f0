"""What other programs wrote, read as memories: pure functions, one file a format."""
