"""client_configs_to_delta: pushed configurations, their history and defaults."""
