"""client_telemetry_to_delta: pushes to points, instances and a ledger."""
