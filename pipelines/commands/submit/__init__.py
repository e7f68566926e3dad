"""The line that spark-submit is called with, and what it sends."""
