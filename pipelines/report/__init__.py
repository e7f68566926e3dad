"""One page about a fleet of clients: asked of the tables once, read anywhere."""
