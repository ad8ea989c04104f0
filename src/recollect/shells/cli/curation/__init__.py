"""Commands of curation."""
