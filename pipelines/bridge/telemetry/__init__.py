"""KIP-714: subscriptions, instances, and the verdict on each push."""
