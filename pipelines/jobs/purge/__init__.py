"""purge_secrets: what rules hide now leaves the tables."""
