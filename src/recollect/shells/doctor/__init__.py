"""The checks of `doctor`, for the command line and the page."""
