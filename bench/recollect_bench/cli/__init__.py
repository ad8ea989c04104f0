"""`recollect bench`, one file per command."""
