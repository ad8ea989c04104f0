"""What `doctor` examines, for the command line and the page."""
