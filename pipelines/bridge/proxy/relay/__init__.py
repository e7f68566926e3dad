"""Sockets of the proxy: pairs of connections, listeners of brokers."""
