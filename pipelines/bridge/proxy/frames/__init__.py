"""What passes the proxy, as bytes."""
