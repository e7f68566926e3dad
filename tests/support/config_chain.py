"""The chain from the bodies of pushes to resolved entries, as the job runs it."""

import pyarrow as pa

from udfs.configs.defaults import KnownDefaults
from udfs.configs.described_configs import PLACE_COLUMNS, resolve_config_defaults
from udfs.configs.entries import CONTEXT_COLUMNS, judge_config_entries
from udfs.configs.pushes import decode_config_pushes

MAX_BYTES = 1 << 20
COLUMNS = (*PLACE_COLUMNS, "redactions")
"""What is known of a push besides its body."""


def judge_pushes(bodies, context, rules):
    """Return pushes as CONFIG_PUSH_SCHEMA.

    Args:
        bodies: Bytes.
        context: COLUMNS, the same for all pushes.
        rules: From sensitive_keys.compile_rules.
    """
    known = _repeat(context, len(bodies))
    decoded = decode_config_pushes(pa.array(bodies, pa.binary()), max_bytes=MAX_BYTES)
    return judge_config_entries(
        decoded, known.select(list(CONTEXT_COLUMNS)), rules=rules
    )


def resolve_pushes(judged, context, rules, defaults=None):
    """Return the entries of judged pushes as lists of ENTRY_TYPE."""
    known = _repeat(context, judged.num_rows)
    return resolve_config_defaults(
        judged.column("configs"),
        known.select(list(PLACE_COLUMNS)),
        rules=rules,
        defaults=defaults or KnownDefaults({}),
        has_references=False,
    )


def _repeat(context, count):
    columns = [pa.array([text] * count, pa.string()) for text in context]
    return pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))
