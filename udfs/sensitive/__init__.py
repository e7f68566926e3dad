"""Which entries, values and client ids are secret: the one definition."""
