"""What operators see of a whole site, without Spark: pages, topics, files, tables."""
