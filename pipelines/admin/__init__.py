"""Command-line tools in the syntax of Apache Kafka's own, without Java."""
