"""Kernels: pure functions over Arrow arrays; only `spark*.py` know Spark."""
