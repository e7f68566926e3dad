"""Kafka's messages and topics as bridge, feed and commands use them."""
