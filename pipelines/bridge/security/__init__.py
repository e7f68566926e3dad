"""Who a peer is: TLS over memory, principals, keys and their files."""
