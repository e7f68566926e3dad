"""The commands: their arguments, what they ask and what they print."""
