"""Why a record stands in `quarantine`: each reason code, and what it says of it.

A code is a constant where its fault is found: in `udfs/`, or in
`pipelines/streaming/topic_losses.py`. A test compares them with these.
"""

from collections.abc import Mapping

QUARANTINE_REASONS: Mapping[str, str] = {
    "null_value": "has no value; no bridge wrote it, or one that is broken.",
    "missing_header": "lacks a header; no bridge wrote it, or one that is broken.",
    "header_not_utf8": "has a header that is no UTF-8; as above.",
    "invalid_header": "has a header that is not of its type, or a form of `redactions` "
    "that the job does not know: upgrade jobs before bridges.",
    "headers_too_large": "has more than 16 KiB of headers, twice what a bridge writes "
    "at most; those longer than 1 KiB are left out and named in `detail`.",
    "value_too_large": "is, as sent, larger than `max_decompressed_bytes` of "
    "`client_telemetry_to_delta`; its body is left out.",
    "unknown_codec": "names a codec that nobody has.",
    "wrong_codec": "begins otherwise than its codec does.",
    "truncated_frame": "ends within its compressed data.",
    "corrupt_frame": "cannot be decompressed.",
    "too_large": "is larger than `max_decompressed_bytes` once decompressed, or than "
    "`max_config_bytes` or `max_record_bytes` of its job.",
    "truncated_otlp": "ends within OTLP MetricsData.",
    "malformed_otlp": "is no OTLP MetricsData.",
    "invalid_utf8": "has a text that is no UTF-8.",
    "truncated_push_config": "ends within the body of a PushConfig request.",
    "malformed_push_config": "is no body of a PushConfig request: null keys or values, "
    "lengths that do not fit, bytes behind its end.",
    "malformed_wire_configs": "is not the JSON that the proxy writes.",
    "malformed_client_traffic": "is not the JSON that the proxy writes, or counts what "
    "cannot be.",
    "truncated_metadata_record": "ends within a metadata record of the cluster.",
    "malformed_metadata_record": "is no metadata record of the cluster: lengths that "
    "do not fit, texts that are no UTF-8, bytes behind its end.",
    "malformed_full_set": "should close a full set of the cluster, and is not the "
    "JSON of one.",
    "malformed_client_config": "is no record of a dynamic client config: not the JSON "
    "that the bridge writes, or of another entity or key than its key says; `detail` "
    "says which.",
    "unknown_client_config": "is of a type or version of records of dynamic client "
    "configs that the job does not know: upgrade jobs before bridges.",
    "sensitive_client_config": "sets a dynamic client config whose key or value the "
    "rules for secrets hide.",
    "data_loss": "is one of several, up to `offset`, that were gone before they were "
    "read.",
    "topic_made_anew": "is one of a topic that was deleted; coordinates up to `offset` "
    "may be of it or of its successor.",
}
"""Reason code to the rest of the sentence "the record …"."""
