"""The instrument that decides every default."""
