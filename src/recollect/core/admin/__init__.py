"""Operating a server: admission, rates, checks, settings from the environment."""
