"""What operators see: pages, metrics, logs, health."""
