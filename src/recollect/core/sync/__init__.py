"""What client and server exchange, how they merge, and when to retry."""
