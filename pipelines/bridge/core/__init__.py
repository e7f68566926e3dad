"""What all parts of the bridge share: identity, counters, records, handlers."""
