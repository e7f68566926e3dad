"""Kernels: pure functions over Arrow arrays; only `spark.py` knows Spark."""
