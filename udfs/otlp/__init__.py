"""MetricsData bytes to points."""
