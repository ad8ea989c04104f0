"""The command line: parse the arguments, call one use case, render the result."""
