"""Tables and cards for people."""
