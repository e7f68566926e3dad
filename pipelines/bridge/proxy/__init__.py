"""Relays frames between clients and brokers; rewrites addresses, answers telemetry."""
