"""A folder a job: its wiring, its batch and its steps."""
