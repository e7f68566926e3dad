"""Metadata records of a cluster: their bytes, and what a broker reports."""
