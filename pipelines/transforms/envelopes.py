"""Codecs of a push by name, and which records are pushes.

Source: Kafka's CompressionType; the columns of `udfs.envelopes`.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame

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


def filter_usable(envelopes: DataFrame) -> DataFrame:
    """Keep the records whose envelope can be used."""
    return envelopes.where("envelope_fault IS NULL")
