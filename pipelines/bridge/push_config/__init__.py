"""KIP-1324: configurations that clients push, judged and redacted."""
