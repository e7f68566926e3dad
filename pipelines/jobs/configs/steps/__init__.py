"""Steps of client_configs_to_delta: DataFrame to DataFrame."""
