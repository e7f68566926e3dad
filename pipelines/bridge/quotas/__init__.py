"""KIP-55 at the bridge: what clients are allowed, what they use, how long they wait."""
