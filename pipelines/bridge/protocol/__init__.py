"""Kafka's wire protocol without I/O: bytes in, requests and replies out."""
