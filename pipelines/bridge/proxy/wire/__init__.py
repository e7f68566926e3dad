"""What clients show of their configuration on the wire."""
