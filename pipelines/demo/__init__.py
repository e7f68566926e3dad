"""One machine, a cluster of its own, some clients: what the product shows."""

MIN_CLIENTS, MAX_CLIENTS = 2, 200
MAX_SAMPLE_CLIENTS = 100_000
