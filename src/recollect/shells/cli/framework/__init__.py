"""How commands are declared, run and reported."""
