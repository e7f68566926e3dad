"""The Kafka-protocol endpoint that clients push to; no Spark, no JVM."""
