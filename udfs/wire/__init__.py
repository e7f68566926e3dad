"""Kafka's primitive types: one bounded reader, and what writes them."""
