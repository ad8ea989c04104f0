"""What agents say and get: capture, injection, transcripts, memory files."""
