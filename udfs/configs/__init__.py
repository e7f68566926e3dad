"""Entries of configurations: types, defaults, statuses, histories."""
