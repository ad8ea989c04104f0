"""What agents send and receive: capture, injection, transcripts, memory files."""
