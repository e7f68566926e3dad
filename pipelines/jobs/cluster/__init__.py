"""cluster_metadata_to_delta: what a cluster and its brokers are, and were."""
