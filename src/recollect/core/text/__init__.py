"""Text as words, for any language."""
