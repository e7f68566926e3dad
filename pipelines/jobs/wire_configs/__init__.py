"""client_wire_configs_to_delta: what clients' requests have shown."""
