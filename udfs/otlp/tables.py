"""The tables a walk fills, and their distinct strings as Arrow."""

import base64
import bisect
import json
import math
import secrets
import struct
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValueList

from . import walk as w
from .limits import PAIRS_PER_ROW

# Full tables end a batch, so these bound the memory of a decode. A push that does not
# fit the usual tables gets the largest ones; one that does not fit those is refused.
# No powers of two: columns a power of two apart would share a few lines of the cache.
# The largest ones have MAX_ROWS.
USUAL_ROWS = (1 << 15) + 72
MAX_TEXT_BYTES = 64 << 20
MAX_ARROW_BYTES = 64 << 20

# Chosen once a process: with a known seed a client could send strings that all meet in
# one place of the hash table. It does not show in any result.
SEED = secrets.randbits(62)

KNOWN = np.frombuffer(b"".join(w.WELL_KNOWN), np.uint8)
KNOWN_ENDS = np.cumsum([len(known) for known in w.WELL_KNOWN], dtype=np.int64)

AnyNested = AnyValue | ArrayValue | KeyValueList


# Where the columns of each table begin.
TABLE_COLUMNS = (w.P_METRIC, w.D_COUNT, w.M_PUSH, w.S_NAME, w.R_PUSH)


class Tables(NamedTuple):
    """What one walk fills; see `walk` for the columns."""

    rows: w.Table
    pairs: w.Table
    words: w.Table
    slots: w.Table
    text: w.Bytes
    counts: w.Table

    def column(self, register: int) -> w.Table:
        """Return the column of a register, in the table that has it."""
        table = bisect.bisect_right(TABLE_COLUMNS, register) - 1
        return self.rows[register, : self.counts[table]]

    def pool(self, pool: int) -> w.Table:
        """Return both sides of the pairs of a pool."""
        return self.pairs[pool, :, : self.counts[w.C_POOLS + pool]]

    def clear(self) -> None:
        """Empty the tables for another walk."""
        self.slots.fill(0)
        self.counts.fill(0)
        self.counts[w.C_SEED] = SEED


def make_tables(payload_bytes: int, max_rows: int) -> Tables:
    """Make empty tables.

    Args:
        payload_bytes: How much there is to walk; a row takes two bytes at least.
        max_rows: The largest number of rows.
    Returns: Tables of the size that is needed, or of the largest size.
    """
    max_rows = min(max_rows, payload_bytes // 2 + 1)
    max_pairs = min(max_rows * PAIRS_PER_ROW, payload_bytes + 1)
    max_words = max_rows + len(w.WELL_KNOWN) + 1
    tables = Tables(
        rows=np.empty((w.COLUMNS, max_rows), np.int64),
        pairs=np.empty((w.POOLS, 2, max_pairs), np.int64),
        words=np.empty((max_words, w.WORD_WIDTH), np.int64),
        slots=np.empty(1 << (2 * max_words - 1).bit_length(), np.int64),
        text=np.empty(len(KNOWN) + min(MAX_TEXT_BYTES, payload_bytes), np.uint8),
        counts=np.empty(w.COUNTS, np.int64),
    )
    tables.clear()
    return tables


def _nested_value(value: AnyNested) -> object:
    """Return an attribute value as JSON has it; what JSON lacks becomes a string."""
    if isinstance(value, ArrayValue):
        return [_nested_value(member) for member in value.values]
    if isinstance(value, KeyValueList):
        return {member.key: _nested_value(member.value) for member in value.values}
    member = value.WhichOneof("value")
    if member is None or member == "string_value_strindex":
        return None
    content = getattr(value, member)
    if member in {"array_value", "kvlist_value"}:
        return _nested_value(content)
    if member == "bytes_value":
        return base64.b64encode(content).decode("ascii")
    is_json = member != "double_value" or math.isfinite(content)
    return content if is_json else repr(content)


def _word_text(kind: int, start: int, content: bytes) -> str:
    """Return the text of an attribute value that is not a string."""
    if kind == w.INT_WORD:
        return str(start)
    if kind == w.DOUBLE_WORD:
        (number,) = struct.unpack("<d", struct.pack("<q", start))
        return repr(number)
    if kind == w.BYTES_WORD:
        return base64.b64encode(content).decode("ascii")
    parser = ArrayValue if kind == w.ARRAY_WORD else KeyValueList
    nested = _nested_value(parser.FromString(content))
    return json.dumps(nested, ensure_ascii=False, separators=(",", ":"))


def arrow_words(tables: Tables) -> pa.StringArray:
    """Return the distinct strings; word 0 is null.

    Args:
        tables: After a walk.
    Returns: One string a word, in the order of their numbers.
    Nulls: Word 0 only.
    """
    words = tables.words[: tables.counts[w.C_STRINGS]]
    offsets = np.zeros(len(words) + 1, np.int32)
    np.cumsum(words[:, w.W_LENGTH], out=offsets[1:])
    is_known = np.ones(len(words), np.bool_)
    is_known[w.NULL] = False
    strings = pa.StringArray.from_buffers(
        len(words),
        pa.py_buffer(offsets),
        pa.py_buffer(tables.text[: offsets[-1]].copy()),
        pa.py_buffer(np.packbits(is_known, bitorder="little")),
        1,
    )
    is_other = words[:, w.W_KIND] != w.TEXT_WORD
    if not is_other.any():
        return strings
    # A loop over distinct values only, which are few: node ids, say.
    texts = [
        _word_text(
            words[word, w.W_KIND].item(),
            words[word, w.W_START].item(),
            tables.text[offsets[word] : offsets[word + 1]].tobytes(),
        )
        for word in np.flatnonzero(is_other)
    ]
    return pc.replace_with_mask(strings, is_other, pa.array(texts, pa.string()))
