"""The rule for a broker's configs over whole columns.

Strategy: each different name is looked up in the catalogue by Arrow's hash; only names
that it lacks are searched for what makes them NEVER, by one pattern of all conditions.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from . import broker_catalog as b
from .broker_catalog import BrokerCatalog, judge_name

_UNKNOWN_NEVER = "|".join(
    (
        rf"\A(?:{'|'.join(map(re.escape, b.NEVER_PREFIXES))})",
        *map(re.escape, b.NEVER_INFIXES),
        rf"(?:{'|'.join(map(re.escape, b.NEVER_SUFFIXES))})\z",
        rf"\A(?:{'|'.join(map(re.escape, b.NEVER_KEYS))})\z",
    )
)


def judge_reported(names: pa.StringArray, catalog: BrokerCatalog) -> pa.Array:
    """Say which configs a broker reports.

    Args:
        names: string, or a dictionary of it: names of configs.
        catalog: What is known of a broker's configs.
    Returns: string; `reported`, `no_validator`, `password`, `never`, `unknown_key`.
    Shape: n names in, n verdicts out, same order.
    Nulls: A null name is unknown_key; no verdict is null.
    """
    coded = pc.dictionary_encode(names)
    verdicts = _judge_different(coded.dictionary.cast(pa.string()), catalog)
    return pc.fill_null(pc.take(verdicts, coded.indices), b.UNKNOWN_KEY)


def _judge_different(names: pa.StringArray, catalog: BrokerCatalog) -> pa.StringArray:
    known = pa.array(list(catalog), pa.string())
    known_verdicts = pa.array(
        [judge_name(one, catalog) for one in catalog], pa.string()
    )
    verdicts = pc.take(known_verdicts, pc.index_in(names, value_set=known))
    is_unknown = pc.is_null(verdicts)
    is_never = pc.match_substring_regex(names.filter(is_unknown), _UNKNOWN_NEVER)
    found = pc.if_else(is_never, b.NEVER, b.UNKNOWN_KEY)
    return pc.replace_with_mask(verdicts, is_unknown, found)
