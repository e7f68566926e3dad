"""Steps of purge-secrets: DataFrame to DataFrame."""
