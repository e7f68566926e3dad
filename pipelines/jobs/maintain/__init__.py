"""maintain_tables: tables stay small, quick to read and within what they may keep."""
