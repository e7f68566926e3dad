"""client_traffic_to_delta: what clients behind the proxy produce and fetch."""
