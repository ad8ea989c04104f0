"""Reports as tables, JSON and plots, and as text for a person to judge."""
