"""A job's whole pass over records: to Parquet bytes with Delta's statistics."""
