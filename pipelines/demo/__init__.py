"""One machine, a cluster of its own, some clients: what the product shows."""
