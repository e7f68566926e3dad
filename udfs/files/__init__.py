"""Rows to Parquet bytes with Delta's statistics."""
