"""Client-metrics subscriptions: their properties and patterns, as Kafka reads them."""
