"""Commands that find memories, and the settings of recall."""
