"""How a streaming job starts, where it stands in Kafka, and what it tells."""
