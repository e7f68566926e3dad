"""dynamic_configs_to_delta: what was set for clients, and what they can take."""
