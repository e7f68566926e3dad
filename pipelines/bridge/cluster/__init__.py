"""The cluster asked and followed, and what admins ask of the bridge."""
