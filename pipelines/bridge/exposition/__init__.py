"""Prometheus families that several parts of the bridge write."""
