"""A report written down: as tables, as JSON, as pictures, and for a person to judge."""
