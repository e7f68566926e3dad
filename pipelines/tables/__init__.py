"""Contracts: what each table promises to its readers."""
