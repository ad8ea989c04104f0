"""Pure values and functions: no I/O, no async, no clock, no environment."""
