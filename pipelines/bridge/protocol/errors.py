"""Errors of requests and responses beyond malformed bytes. Texts hold no values."""

from pipelines.kafka_client.primitives import WireError


class UnsupportedRequest(WireError):
    """Raised when an API key or version is not served here."""


class MalformedResponse(WireError):
    """Raised when a broker's response through the proxy cannot be read."""
