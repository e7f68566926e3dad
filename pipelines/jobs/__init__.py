"""One file per job; wiring only."""
