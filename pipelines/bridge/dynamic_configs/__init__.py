"""KIP-649: which dynamic configs may be set, what is set, and who is told what."""
