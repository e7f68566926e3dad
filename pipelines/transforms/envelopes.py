"""Codecs of a push, by the names that the ledger has them by."""

from collections.abc import Mapping

COMPRESSION_IDS: Mapping[str, int] = {
    "none": 0,
    "gzip": 1,
    "snappy": 2,
    "lz4": 3,
    "zstd": 4,
}
"""Kafka's CompressionType: name to id on the wire."""
UNKNOWN_COMPRESSION_ID = -1
"""No codec has it; the decoder reports such a push as unknown_codec."""
