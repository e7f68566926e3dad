"""kafka-clientele: which clients use this cluster, how, and what changed."""

__version__ = "0.1.0"
