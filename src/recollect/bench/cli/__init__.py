"""`recollect bench`, command by command."""
