"""Detection of credentials in text."""
