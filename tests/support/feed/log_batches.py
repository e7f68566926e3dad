"""Batches of a metadata log by the values of their records."""

from tests.support.kafka.metadata_logs import START_MS, write_batch


def frame(api_key, version=0):
    """Return a framed record without fields, of any type."""
    return bytes([1, api_key, version, 0])


def batch(base_offset, *values, epoch=1, timestamp_ms=START_MS):
    """Return a batch that a controller has written."""
    return write_batch(
        values, base_offset=base_offset, epoch=epoch, base_ms=timestamp_ms
    )
