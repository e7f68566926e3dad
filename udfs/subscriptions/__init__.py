"""Which clients a subscription is for: selectors, and the patterns in them."""
