"""What hooks and agent tools do with memories."""
