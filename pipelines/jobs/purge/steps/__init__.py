"""Steps of purge_secrets: DataFrame to DataFrame."""
