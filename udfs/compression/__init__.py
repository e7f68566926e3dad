"""Bounded decompression of one push."""
