"""What the use cases need from the world, as small Protocols that speak the domain."""
