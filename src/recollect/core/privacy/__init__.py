"""Secrets, sensitivity, egress, erasure, redaction and keys."""
