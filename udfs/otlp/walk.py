# Strategy: one pass over the bytes of many pushes, driven by a table of fields.
#
# The walk keeps a stack of open messages. Scalars go into registers; when a message
# ends, its block of registers becomes one row of a table. Strings become numbers: each
# distinct one is checked for UTF-8 and copied once. Nothing grows: when a table is full
# the push is rolled back and the walk stops before it, so memory is bounded by design.
#
# When bytes are bad, or legal but unusual (a message in two parts, a group, a nested
# attribute value), the push is rolled back with a status and the walk goes on with the
# next push. It may call legal bytes unusual, never the other way round: what has status
# OK is what the protobuf decoder would have read. `exact` settles the rest.
#
# A push that holds what clients send and nothing else takes a straight path beside the
# walk, at a fraction of its cost: gauges and sums of number points, attributes that are
# texts or integers. It gives the same rows, but a resource that repeats the one before
# is not a row of its own. Whatever else it meets, it leaves to the walk.
#
# Source: the Protocol Buffers encoding; opentelemetry-proto metrics/v1/metrics.proto.
#
# Longer than 400 lines because numba's cache compares one file: what is compiled
# together, constants included, has to stand together (see udfs.compiled). _walk_push
# and _walk_plain_… are longer than 40 because they are loops, and a call in them costs
# more than its work.
#
# ruff: noqa: PLR0917 - numba has no keyword-only arguments
# ruff: noqa: PLR1714, SIM109 - a set or a tuple costs more there than two comparisons
# ruff: noqa: PLR2004 - the numbers are those of the encoding, and of UTF-8
"""Walks the protobuf bytes of many pushes and fills tables of numbers."""

from typing import cast

import numpy as np
import numpy.typing as npt

from udfs.compiled import compiled, compiled_part

# Positions are cast to this where they index: numba lets signed ones count from the
# end, and asks each time.
U = np.uint64
Bytes = npt.NDArray[np.uint8]
Table = npt.NDArray[np.int64]


def _int64s(first: int, end: int) -> tuple[int, ...]:
    return cast("tuple[int, ...]", tuple(np.arange(first, end, dtype=np.int64)))


# All constants are numpy's int64: with Python's int, numba would compile a function
# anew for each constant that it is called with.

# Statuses of a push.
(
    OK,
    UNUSUAL,  # legal perhaps; the exact decoder has to say what it means
    NO_ROOM,
    TRUNCATED,  # ends inside a field
    OVERRUN,  # a field ends after the message that holds it
    BAD_KEY,
    BAD_NUMBER,
    BAD_GROUP,
    BAD_LIST,
    TOO_DEEP,
    BAD_TEXT,
) = _int64s(0, 11)

# Wire types.
VARINT, FIXED64, LEN, GROUP_START, GROUP_END, FIXED32 = _int64s(0, 6)


def _keys(numbers: tuple[int, ...], wire: int) -> tuple[int, ...]:
    return tuple(np.int64(number << 3 | wire) for number in numbers)  # type: ignore[misc]  # as _int64s


# Keys of the fields that clients send, each with its wire type; all are one byte.
KEY_1, KEY_2, KEY_3, KEY_5, KEY_7 = _keys((1, 2, 3, 5, 7), LEN)
KEY_START, KEY_TIME, KEY_DOUBLE, KEY_LONG = _keys((2, 3, 4, 6), FIXED64)
KEY_FLAGS, KEY_TEMPORALITY, KEY_IS_MONOTONIC = _keys((8, 2, 3), VARINT)
KEY_STRING_VALUE, KEY_INT_VALUE = KEY_1, KEY_IS_MONOTONIC

# Messages. Those from SCOPE_ATTRIBUTE on are checked and not kept.
(
    GROUP,
    METRICS_DATA,
    RESOURCE_METRICS,
    RESOURCE,
    SCOPE_METRICS,
    SCOPE,
    METRIC,
    GAUGE,
    SUM,
    HISTOGRAM,
    EXPONENTIAL_HISTOGRAM,
    SUMMARY,
    NUMBER_POINT,
    HISTOGRAM_POINT,
    EXPONENTIAL_POINT,
    SUMMARY_POINT,
    POSITIVE_BUCKETS,
    NEGATIVE_BUCKETS,
    QUANTILE,
    RESOURCE_ATTRIBUTE,
    POINT_ATTRIBUTE,
    ATTRIBUTE_VALUE,
    SCOPE_ATTRIBUTE,
    SCOPE_ATTRIBUTE_VALUE,
    ARRAY,
    KEY_VALUES,
    EXEMPLAR,
    ENTITY,
    MESSAGES,
) = _int64s(0, 29)
FIRST_NOT_KEPT = SCOPE_ATTRIBUTE

# Columns of `fields`: what a field of a message means to the walk.
WIRE, ACTION, CHILD, ONCE, SLOT, MARK_SLOT, MARK, FIELD_WIDTH = _int64s(0, 8)
FIELD_NUMBERS = 16

# Actions. NUMBER writes a register, TEXT the number of a string; VALUE_… do so for an
# attribute value; LIST_… append to a pool.
(
    SKIP,
    MESSAGE,
    NUMBER,
    TEXT,
    TEXT_NOT_KEPT,
    LIST_FIXED64,
    LIST_VARINT,
    VALUE_TEXT,
    VALUE_BYTES,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_DOUBLE,
    VALUE_NONE,
    VALUE_NESTED,
) = _int64s(0, 14)

# Registers: a block for each table. Registers are also the columns of the tables.
(
    P_METRIC,
    P_SCOPE,
    P_RESOURCE,
    P_ATTRIBUTES,  # end of its attributes in their pool
    P_DISTRIBUTION,  # row + 1; 0 is none
    P_FLAGS,
    P_START,
    P_TIME,
    P_VALUE,
    P_VALUE_KIND,
    P_TOPIC,
    P_PARTITION,
    P_NODE,
    P_TEXT,  # bytes of text
) = _int64s(0, 14)
(
    D_COUNT,
    D_SUM,
    D_MIN,
    D_MAX,
    D_HAS_SUM,
    D_HAS_MIN,
    D_HAS_MAX,
    D_SCALE,
    D_ZERO_COUNT,
    D_ZERO_THRESHOLD,
    D_POSITIVE_OFFSET,
    D_NEGATIVE_OFFSET,
    D_HAS_POSITIVE,
    D_HAS_NEGATIVE,
    D_ENDS,  # five: ends of its lists in their pools
) = _int64s(14, 29)
LISTS = 5
(
    M_PUSH,
    M_NAME,
    M_DESCRIPTION,
    M_UNIT,
    M_KIND,
    M_TEMPORALITY,
    M_IS_MONOTONIC,
    M_TEXT,
) = _int64s(33, 41)
S_NAME, S_VERSION, S_TEXT = _int64s(41, 44)
(
    R_PUSH,
    R_GROUP_ID,
    R_GROUP_INSTANCE_ID,
    R_GROUP_MEMBER_ID,
    R_TRANSACTIONAL_ID,
    R_CLIENT_RACK,
    R_ATTRIBUTES,  # end of its other attributes in their pool
    R_TEXT,
) = _int64s(44, 52)
A_KEY, A_VALUE, Q_QUANTILE, Q_VALUE, OWNER, NOWHERE, REGISTERS = _int64s(52, 59)
COLUMNS = A_KEY

# Tables, whose columns are those of `rows`; pools in `pairs`; what `counts` counts.
POINTS, DISTRIBUTIONS, METRICS, SCOPES, RESOURCES, TABLES = _int64s(0, 6)
(
    BOUNDS,
    BUCKETS,
    POSITIVE,
    NEGATIVE,
    QUANTILES,
    POINT_ATTRIBUTES,
    RESOURCE_ATTRIBUTES,
    POOLS,
) = _int64s(0, 8)
C_POOLS = TABLES
(
    C_COST,
    C_STRINGS,
    C_TEXT,
    C_OWNERS,
    C_SEED,
    COUNTS,
) = _int64s(TABLES + POOLS, TABLES + POOLS + 6)
ROLLED_BACK = C_STRINGS  # counts before this one

# Kinds and columns of `words`, the distinct strings.
TEXT_WORD, BYTES_WORD, ARRAY_WORD, KEY_VALUES_WORD, INT_WORD, DOUBLE_WORD = _int64s(
    0, 6
)
W_HASH, W_KIND, W_START, W_LENGTH, W_OWNER, W_ROW, WORD_WIDTH = _int64s(0, 7)

# Numbers of the strings that are known beforehand; 0 is null. `WELL_KNOWN` has them in
# this order.
(
    NULL,
    EMPTY,
    TOPIC,
    PARTITION,
    NODE_ID,
    NODE_DOT_ID,
    GROUP_ID,
    GROUP_INSTANCE_ID,
    GROUP_MEMBER_ID,
    TRANSACTIONAL_ID,
    CLIENT_RACK,
    MEMBER_ID,
    TRUE,
    FALSE,
    FIRST_BROKER_LABEL,
) = _int64s(0, 15)
WELL_KNOWN = (
    b"",
    b"topic",
    b"partition",
    b"node_id",
    b"node.id",
    b"group_id",
    b"group_instance_id",
    b"group_member_id",
    b"transactional_id",
    b"client_rack",
    b"member_id",
    b"true",
    b"false",
    # From FIRST_BROKER_LABEL on, what a broker adds to a resource, as it does node_id.
    b"client_instance_id",
    b"client_id",
    b"client_software_name",
    b"client_software_version",
    b"client_source_address",
    b"client_source_port",
    b"principal",
    b"listener",
    b"bridge_id",
)
AFTER_BROKER_LABELS = len(WELL_KNOWN) + 1

# Columns of resets[message]: the block of registers that is unset when it begins,
# whether attributes follow, whether its end makes a row.
FIRST, AFTER, HAS_ATTRIBUTES, IS_KEPT, RESET_WIDTH = _int64s(0, 5)
# Columns of the stack.
END, KIND, SEEN, FRAME_WIDTH = _int64s(0, 4)
MAX_FRAMES = 128
(NO_SIZE,) = _int64s(0, 1)
LEFT, RIGHT = _int64s(0, 2)
# The protobuf decoder ends at 100; from here on it is asked.
USUAL_FRAMES = 90
MAX_KEY = 0xFFFF_FFFF
# The protobuf decoder takes no longer form of a key or a length.
MAX_KEY_BYTES = 5
MAX_VARINT_SHIFT = 63
HASH_FACTOR = -7046029254386353131  # odd, from the golden ratio, as int64
# Messages in one push; the exact decoder needs some 100 bytes for each.
MAX_MESSAGES = 1 << 21
# What a number's text may need, beside two offsets.
NUMBER_BYTES = 24
# Kinds of metrics and of values, as otlp_fields numbers them.
GAUGE_KIND, SUM_KIND = _int64s(1, 3)
IS_DOUBLE, IS_LONG = _int64s(1, 3)
# What a point costs in Arrow beside its text, roughly, in bytes.
POINT_BYTES = 256


@compiled_part
def _byte(data: Bytes, at: int) -> int:
    """Return a byte as a signed number; unsigned ones would turn sums into floats."""
    return np.int64(data[U(at)])  # type: ignore[return-value]  # it is an int to numba


@compiled_part
def _read_varint(data: Bytes, at: int, limit: int) -> tuple[int, int]:
    """Read a number; the new position is -1 at the limit, -2 after ten bytes."""
    value = NO_SIZE
    shift = NO_SIZE
    while at < limit:
        byte = _byte(data, at)
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > MAX_VARINT_SHIFT:
            return value, -2
    return value, -1


@compiled_part
def _read_fixed64(data: Bytes, at: int) -> int:
    """Read eight bytes, least significant first; compiles to one load."""
    value = NO_SIZE
    for index in range(8):
        value |= _byte(data, at + index) << (8 * index)
    return value


@compiled_part
def _is_utf8(data: Bytes, at: int, end: int) -> bool:
    """Say whether bytes are UTF-8: no surrogates, no overlong forms."""
    while at < end:
        first = _byte(data, at)
        at += 1
        if first < 0x80:
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        more = 1 + (first >= 0xE0) + (first >= 0xF0)
        if more > end - at:
            return False
        second = _byte(data, at)
        if (
            (first == 0xE0 and second < 0xA0)
            or (first == 0xED and second > 0x9F)
            or (first == 0xF0 and second < 0x90)
            or (first == 0xF4 and second > 0x8F)
        ):
            return False
        for _ in range(more):
            if data[U(at)] & 0xC0 != 0x80:
                return False
            at += 1
    return True


@compiled_part
def _hash_bytes(data: Bytes, at: int, end: int, seed: int) -> int:
    """Hash bytes; the seed is secret, so that nobody can choose strings that meet."""
    state = (seed ^ (end - at)) * HASH_FACTOR
    first = at
    while at + 8 <= end:
        state = (state ^ _read_fixed64(data, at)) * HASH_FACTOR
        state ^= (state >> 32) ^ seed
        at += 8
    if at < end and end - first >= 8:
        # The last eight bytes, some of them for the second time: one load, no loop.
        state = (state ^ _read_fixed64(data, end - 8)) * HASH_FACTOR
        state ^= state >> 32
        at = end
    while at < end:
        state = (state ^ _byte(data, at)) * HASH_FACTOR
        state ^= state >> 32
        at += 1
    return state * HASH_FACTOR ^ (state >> 29)


@compiled_part
def _is_same(data: Bytes, at: int, text: Bytes, text_at: int, length: int) -> bool:
    """Compare bytes of a push with kept text."""
    index = 0
    while index + 8 <= length:
        if _read_fixed64(data, at + index) != _read_fixed64(text, text_at + index):
            return False
        index += 8
    if index < length and length >= 8:
        last = length - 8
        return _read_fixed64(data, at + last) == _read_fixed64(text, text_at + last)
    while index < length:
        if data[U(at + index)] != text[U(text_at + index)]:
            return False
        index += 1
    return True


@compiled_part
def _intern_bytes(
    data: Bytes,
    at: int,
    end: int,
    kind: int,
    words: Table,
    slots: Table,
    text: Bytes,
    counts: Table,
) -> int:
    """Return the number of a string, a new one if need be; or minus a status."""
    length = end - at
    state = _hash_bytes(data, at, end, counts[C_SEED] + kind)
    slot = state & (slots.shape[0] - 1)
    while slots[U(slot)] != 0:
        word: int = slots[U(slot)]
        if (
            words[U(word), W_HASH] == state
            and words[U(word), W_KIND] == kind
            and words[U(word), W_LENGTH] == length
            and _is_same(data, at, text, words[U(word), W_START], length)
        ):
            return word
        slot = (slot + 1) & (slots.shape[0] - 1)
    if kind == TEXT_WORD and not _is_utf8(data, at, end):
        return -BAD_TEXT
    word = counts[C_STRINGS]
    start = counts[C_TEXT]
    if word >= words.shape[0] or length > text.shape[0] - start:
        return -NO_ROOM
    for index in range(length):
        text[U(start + index)] = data[U(at + index)]
    _add_word(words, word, state, kind, start, length)
    slots[U(slot)] = word
    counts[C_STRINGS] += 1
    counts[C_TEXT] += length
    return word


@compiled_part
def _intern_number(
    value: int, kind: int, words: Table, slots: Table, counts: Table
) -> int:
    """Return the number of the string that a number will become; or minus a status."""
    state = (value ^ counts[C_SEED] ^ kind) * HASH_FACTOR
    state ^= state >> 32
    state *= HASH_FACTOR ^ counts[C_SEED]
    state ^= state >> 29
    slot = state & (slots.shape[0] - 1)
    while slots[U(slot)] != 0:
        word: int = slots[U(slot)]
        if words[U(word), W_KIND] == kind and words[U(word), W_START] == value:
            return word
        slot = (slot + 1) & (slots.shape[0] - 1)
    word = counts[C_STRINGS]
    if word >= words.shape[0]:
        return -NO_ROOM
    _add_word(words, word, state, kind, value, NO_SIZE)
    slots[U(slot)] = word
    counts[C_STRINGS] += 1
    return word


@compiled_part
def _add_word(
    words: Table, word: int, state: int, kind: int, start: int, length: int
) -> None:
    """Describe a new string."""
    words[U(word), W_HASH] = state
    words[U(word), W_KIND] = kind
    words[U(word), W_START] = start
    words[U(word), W_LENGTH] = length
    words[U(word), W_OWNER] = 0


@compiled_part
def _add_row(
    rows: Table, table: int, registers: Table, first: int, after: int, counts: Table
) -> int:
    """Make a block of registers the next row of a table; they are its columns."""
    row = counts[U(table)]
    if row >= rows.shape[1]:
        return NO_ROOM
    for column in range(first, after):
        rows[U(column), U(row)] = registers[U(column)]
    counts[U(table)] += 1
    return OK


@compiled_part
def _add_pair(pairs: Table, pool: int, left: int, right: int, counts: Table) -> int:
    """Append to a pool."""
    row = counts[U(C_POOLS + pool)]
    if row >= pairs.shape[2]:
        return NO_ROOM
    pairs[U(pool), LEFT, U(row)] = left
    pairs[U(pool), RIGHT, U(row)] = right
    counts[U(C_POOLS + pool)] += 1
    return OK


@compiled_part
def _add_attribute(
    pool: int, key: int, registers: Table, pairs: Table, words: Table, counts: Table
) -> int:
    """Append an attribute, or replace the one of the same key and owner."""
    if words[U(key), W_OWNER] == registers[OWNER]:
        pairs[U(pool), RIGHT, U(words[U(key), W_ROW])] = registers[A_VALUE]
        return OK
    words[U(key), W_OWNER] = registers[OWNER]
    words[U(key), W_ROW] = counts[U(C_POOLS + pool)]
    return _add_pair(pairs, pool, key, registers[A_VALUE], counts)


@compiled_part
def _end_attribute(
    message: int, registers: Table, pairs: Table, words: Table, counts: Table
) -> int:
    """Keep an attribute; the promoted ones go into their registers too."""
    key = registers[A_KEY]
    if key == NULL:
        key = EMPTY
    value = registers[A_VALUE]
    size = words[U(key), W_LENGTH] + words[U(value), W_LENGTH] + NUMBER_BYTES
    if message == POINT_ATTRIBUTE:
        registers[P_TEXT] += size
        if key == NODE_DOT_ID:
            key = NODE_ID
        if TOPIC <= key <= NODE_ID:
            registers[P_TOPIC + key - TOPIC] = value
        return _add_attribute(POINT_ATTRIBUTES, key, registers, pairs, words, counts)
    registers[R_TEXT] += size
    if key == MEMBER_ID:
        key = GROUP_MEMBER_ID
    if GROUP_ID <= key <= CLIENT_RACK:
        registers[R_GROUP_ID + key - GROUP_ID] = value
        return OK
    return _add_attribute(RESOURCE_ATTRIBUTES, key, registers, pairs, words, counts)


@compiled_part
def _end_point(message: int, registers: Table, rows: Table, counts: Table) -> int:
    """Keep a data point, its distribution first."""
    if message != NUMBER_POINT:
        for pool in range(LISTS):
            registers[D_ENDS + pool] = counts[U(C_POOLS + pool)]
        status = _add_row(rows, DISTRIBUTIONS, registers, D_COUNT, M_PUSH, counts)
        if status != OK:
            return status
        registers[P_DISTRIBUTION] = counts[DISTRIBUTIONS]
    # The three that hold it are still open, so they will be the next rows.
    registers[P_METRIC] = counts[METRICS]
    registers[P_SCOPE] = counts[SCOPES]
    registers[P_RESOURCE] = counts[RESOURCES]
    registers[P_ATTRIBUTES] = counts[C_POOLS + POINT_ATTRIBUTES]
    return _add_row(rows, POINTS, registers, P_METRIC, D_COUNT, counts)


@compiled_part
def _end_message(  # noqa: PLR0911 - a table of kinds
    message: int,
    push: int,
    registers: Table,
    rows: Table,
    pairs: Table,
    words: Table,
    counts: Table,
) -> int:
    """Keep what a message was, now that it ends."""
    if message == POINT_ATTRIBUTE or message == RESOURCE_ATTRIBUTE:
        return _end_attribute(message, registers, pairs, words, counts)
    if NUMBER_POINT <= message <= SUMMARY_POINT:
        return _end_point(message, registers, rows, counts)
    if message == QUANTILE:
        quantile, value = registers[Q_QUANTILE], registers[Q_VALUE]
        return _add_pair(pairs, QUANTILES, quantile, value, counts)
    if message == METRIC:
        registers[M_PUSH] = push
        registers[M_TEXT] = words[U(registers[M_NAME]), W_LENGTH]
        registers[M_TEXT] += words[U(registers[M_DESCRIPTION]), W_LENGTH]
        registers[M_TEXT] += words[U(registers[M_UNIT]), W_LENGTH]
        return _add_row(rows, METRICS, registers, M_PUSH, S_NAME, counts)
    if message == SCOPE_METRICS:
        registers[S_TEXT] = words[U(registers[S_NAME]), W_LENGTH]
        registers[S_TEXT] += words[U(registers[S_VERSION]), W_LENGTH]
        return _add_row(rows, SCOPES, registers, S_NAME, R_PUSH, counts)
    if message == RESOURCE_METRICS:
        registers[R_PUSH] = push
        registers[R_ATTRIBUTES] = counts[C_POOLS + RESOURCE_ATTRIBUTES]
        return _add_row(rows, RESOURCES, registers, R_PUSH, A_KEY, counts)
    return OK


@compiled_part
def _add_list(
    data: Bytes,
    at: int,
    size: int,
    wire: int,
    value: int,
    action: int,
    pool: int,
    pairs: Table,
    counts: Table,
) -> int:
    """Append one number, or a packed list of them, to a pool."""
    if wire != LEN:
        return _add_pair(pairs, pool, value, value, counts)
    end = at + size
    if action == LIST_FIXED64 and size % 8 != 0:
        return BAD_LIST
    while at < end:
        if action == LIST_FIXED64:
            value = _read_fixed64(data, at)
            at += 8
        else:
            value, at = _read_varint(data, at, end)
            if at < 0:
                return BAD_LIST
        status = _add_pair(pairs, pool, value, value, counts)
        if status != OK:
            return status
    return OK


@compiled_part
def _keep_text(
    data: Bytes,
    at: int,
    size: int,
    action: int,
    slot: int,
    kind: int,
    registers: Table,
    words: Table,
    slots: Table,
    text: Bytes,
    counts: Table,
) -> int:
    """Keep a string field or a textual attribute value."""
    if action == TEXT_NOT_KEPT:
        return OK if _is_utf8(data, at, at + size) else BAD_TEXT
    if action != VALUE_BYTES and action != VALUE_NESTED:
        kind = TEXT_WORD
    word = _intern_bytes(data, at, at + size, kind, words, slots, text, counts)
    if word < 0:
        return -word
    # A string field without text is an unset one; an attribute value is not.
    if action == TEXT and word == EMPTY:
        word = NULL
    registers[U(slot)] = word
    return OK


@compiled_part
def _keep_value(
    value: int,
    action: int,
    slot: int,
    registers: Table,
    words: Table,
    slots: Table,
    counts: Table,
) -> int:
    """Keep a number, or an attribute value that is one."""
    word = value
    if action == VALUE_BOOL:
        word = TRUE if value != 0 else FALSE
    elif action == VALUE_NONE:
        word = NULL
    elif action == VALUE_INT:
        word = _intern_number(value, INT_WORD, words, slots, counts)
    elif action == VALUE_DOUBLE:
        word = _intern_number(value, DOUBLE_WORD, words, slots, counts)
    if action != NUMBER and word < 0:
        return -word
    registers[U(slot)] = word
    return OK


@compiled_part
def _fail(fault: Table, status: int, at: int, size: int) -> int:
    """Note where a push is bad."""
    fault[0] = at
    fault[1] = size
    return status


@compiled_part
def _fail_number(fault: Table, at: int, after: int, limit: int, end: int) -> int:
    """Note a number that was not read; `after` is what read_varint returned."""
    if after == -2:
        return _fail(fault, BAD_NUMBER, at, NO_SIZE)
    return _fail(fault, TRUNCATED if limit == end else OVERRUN, at, NO_SIZE)


@compiled_part
def _open_message(
    message: int,
    end: int,
    depth: int,
    resets: Table,
    frames: Table,
    registers: Table,
    counts: Table,
) -> None:
    """Put a message on the stack, its registers unset."""
    frames[U(depth), END] = end
    frames[U(depth), KIND] = message
    frames[U(depth), SEEN] = 0
    for register in range(resets[U(message), FIRST], resets[U(message), AFTER]):
        registers[U(register)] = 0
    if resets[U(message), HAS_ATTRIBUTES] != 0:
        counts[C_OWNERS] += 1
        registers[OWNER] = counts[C_OWNERS]


@compiled_part
def _walk_push(  # noqa: C901, PLR0911, PLR0912, PLR0915 - one loop; a call costs more
    data: Bytes,
    start: int,
    end: int,
    push: int,
    is_exact: bool,  # noqa: FBT001 - as above
    fields: Table,
    resets: Table,
    rows: Table,
    pairs: Table,
    words: Table,
    slots: Table,
    text: Bytes,
    registers: Table,
    frames: Table,
    counts: Table,
    fault: Table,
) -> int:
    """Walk one push; returns its status."""
    depth = NO_SIZE
    opened = 0
    is_unusual = False
    _open_message(METRICS_DATA, end, depth, resets, frames, registers, counts)
    at = start
    while True:
        limit = frames[U(depth), END]
        message = frames[U(depth), KIND]
        if at == limit:
            if message == GROUP:
                return _fail(fault, TRUNCATED if limit == end else OVERRUN, at, NO_SIZE)
            if depth == 0:
                return UNUSUAL if is_unusual else OK
            depth -= 1
            if resets[U(message), IS_KEPT] == 0:
                continue
            status = _end_message(message, push, registers, rows, pairs, words, counts)
            if status != OK:
                return status
            continue
        field_at = at
        # Nearly all keys and lengths are one byte, and a call costs more than a byte.
        key = _byte(data, at)
        if key < 0x80:
            at += 1
        else:
            key, at = _read_varint(data, at, limit)
            if at < 0:
                return _fail_number(fault, field_at, at, limit, end)
        number = key >> 3
        wire = key & 7
        if (
            at - field_at > MAX_KEY_BYTES
            or key > MAX_KEY
            or number == 0
            or wire > FIXED32
        ):
            return _fail(fault, BAD_KEY, field_at, NO_SIZE)
        value = NO_SIZE
        size = NO_SIZE
        if wire == VARINT:
            value, at = _read_varint(data, at, limit)
            if at < 0:
                return _fail_number(fault, field_at, at, limit, end)
        elif wire == GROUP_START:
            is_unusual = True
            depth += 1
            if depth >= MAX_FRAMES:
                return _fail(fault, TOO_DEEP, field_at, NO_SIZE)
            _open_message(GROUP, limit, depth, resets, frames, registers, counts)
            frames[U(depth), SEEN] = number
            continue
        elif wire == GROUP_END:
            if message != GROUP or frames[U(depth), SEEN] != number:
                return _fail(fault, BAD_GROUP, field_at, NO_SIZE)
            depth -= 1
            continue
        else:
            size = 4 + 4 * (wire == FIXED64)
            if wire == LEN:
                size_at = at
                if at < limit and data[U(at)] < 0x80:
                    size = _byte(data, at)
                    at += 1
                else:
                    size, at = _read_varint(data, at, limit)
                    if at < 0:
                        return _fail_number(fault, field_at, at, limit, end)
                    if at - size_at > MAX_KEY_BYTES:
                        return _fail(fault, BAD_NUMBER, field_at, NO_SIZE)
            if size < 0 or size > limit - at:
                is_cut = size < 0 or size > end - at
                return _fail(fault, TRUNCATED if is_cut else OVERRUN, field_at, size)
            if wire == FIXED64:
                value = _read_fixed64(data, at)
        body = at
        at += size
        if number >= FIELD_NUMBERS:
            continue
        # Row by row, not as a view of one: making a view costs more than reading it.
        field = U(message * FIELD_NUMBERS + number)
        action = fields[field, ACTION]
        if fields[field, WIRE] != wire and not (
            (action == LIST_FIXED64 and wire == FIXED64)
            or (action == LIST_VARINT and wire == VARINT)
        ):
            continue
        status = OK
        if action == MESSAGE or (action == VALUE_NESTED and not is_exact):
            child = fields[field, CHILD]
            if is_exact and child >= FIRST_NOT_KEPT:
                continue
            if action == VALUE_NESTED or frames[U(depth), SEEN] & fields[field, ONCE]:
                is_unusual = True
            frames[U(depth), SEEN] |= fields[field, ONCE]
            depth += 1
            if depth >= MAX_FRAMES:
                return _fail(fault, TOO_DEEP, field_at, NO_SIZE)
            opened += 1
            if opened > MAX_MESSAGES:
                return _fail(fault, NO_ROOM, field_at, NO_SIZE)
            is_unusual = is_unusual or depth > USUAL_FRAMES
            at = body
            _open_message(child, body + size, depth, resets, frames, registers, counts)
        elif action == LIST_FIXED64 or action == LIST_VARINT:
            status = _add_list(
                data,
                body,
                size,
                wire,
                value,
                action,
                fields[field, SLOT],
                pairs,
                counts,
            )
        elif wire == LEN and action != SKIP:
            status = _keep_text(
                data,
                body,
                size,
                action,
                fields[field, SLOT],
                fields[field, MARK],
                registers,
                words,
                slots,
                text,
                counts,
            )
        elif action != SKIP:
            status = _keep_value(
                value, action, fields[field, SLOT], registers, words, slots, counts
            )
        if status != OK:
            return _fail(fault, status, field_at, size)
        registers[U(fields[field, MARK_SLOT])] = fields[field, MARK]


@compiled_part
def _read_size(data: Bytes, at: int, limit: int) -> tuple[int, int]:
    """Read key and length of a field; the new position is -1 if it does not fit."""
    at += 1
    if at >= limit:
        return NO_SIZE, -1
    size = _byte(data, at)
    if size < 0x80:
        at += 1
    else:
        size_at = at
        size, at = _read_varint(data, at, limit)
        if at < 0 or at - size_at > MAX_KEY_BYTES:
            return NO_SIZE, -1
    if size < 0 or size > limit - at:
        return NO_SIZE, -1
    return size, at


@compiled_part
def _read_plain_attribute(  # noqa: PLR0911 - guards
    data: Bytes,
    at: int,
    end: int,
    words: Table,
    slots: Table,
    text: Bytes,
    counts: Table,
) -> tuple[int, int]:
    """Return the numbers of key and value; a negative key where it is not plain."""
    if at >= end or data[U(at)] != KEY_1:
        return -1, NO_SIZE
    size, at = _read_size(data, at, end)
    if at < 0 or at + size >= end:
        return -1, NO_SIZE
    key = _intern_bytes(data, at, at + size, TEXT_WORD, words, slots, text, counts)
    at += size
    if key < 0 or data[U(at)] != KEY_2:
        return -1, NO_SIZE
    size, at = _read_size(data, at, end)
    if at < 0 or at + size != end or size == 0:
        return -1, NO_SIZE
    value = -1
    if data[U(at)] == KEY_STRING_VALUE:
        size, at = _read_size(data, at, end)
        if at < 0 or at + size != end:
            return -1, NO_SIZE
        value = _intern_bytes(data, at, end, TEXT_WORD, words, slots, text, counts)
    elif data[U(at)] == KEY_INT_VALUE:
        number, at = _read_varint(data, at + 1, end)
        if at != end:
            return -1, NO_SIZE
        value = _intern_number(number, INT_WORD, words, slots, counts)
    return (key, value) if value >= 0 else (-1, NO_SIZE)


@compiled_part
def _walk_plain_resource(  # noqa: C901 - one loop
    data: Bytes,
    at: int,
    end: int,
    push: int,
    row: int,
    pair: int,
    rows: Table,
    pairs: Table,
    words: Table,
    slots: Table,
    text: Bytes,
    counts: Table,
) -> int:
    """Make a resource the row; returns the end of its attributes, or -1."""
    counts[C_OWNERS] += 1
    owner = counts[C_OWNERS]
    if row >= rows.shape[1]:
        return -1
    for column in range(R_PUSH, A_KEY):
        rows[U(column), U(row)] = 0
    while at < end:
        if data[U(at)] != KEY_1:
            return -1
        size, at = _read_size(data, at, end)
        if at < 0:
            return -1
        key, value = _read_plain_attribute(
            data, at, at + size, words, slots, text, counts
        )
        at += size
        if key < 0:
            return -1
        rows[R_TEXT, U(row)] += words[U(key), W_LENGTH] + words[U(value), W_LENGTH]
        rows[R_TEXT, U(row)] += NUMBER_BYTES
        if key == MEMBER_ID:
            key = GROUP_MEMBER_ID
        if GROUP_ID <= key <= CLIENT_RACK:
            rows[U(R_GROUP_ID + key - GROUP_ID), U(row)] = value
        elif words[U(key), W_OWNER] == owner:
            pairs[RESOURCE_ATTRIBUTES, RIGHT, U(words[U(key), W_ROW])] = value
        else:
            if pair >= pairs.shape[2]:
                return -1
            words[U(key), W_OWNER] = owner
            words[U(key), W_ROW] = pair
            pairs[RESOURCE_ATTRIBUTES, LEFT, U(pair)] = key
            pairs[RESOURCE_ATTRIBUTES, RIGHT, U(pair)] = value
            pair += 1
    rows[R_PUSH, U(row)] = push
    rows[R_ATTRIBUTES, U(row)] = pair
    return pair


@compiled_part
def _walk_plain_point(  # noqa: C901, PLR0911, PLR0912, PLR0915 - one loop
    data: Bytes,
    at: int,
    end: int,
    row: int,
    pair: int,
    rows: Table,
    pairs: Table,
    words: Table,
    slots: Table,
    text: Bytes,
    counts: Table,
) -> int:
    """Make a number point the row; returns the end of its attributes, or -1."""
    counts[C_OWNERS] += 1
    owner = counts[C_OWNERS]
    if row >= rows.shape[1]:
        return -1
    flags, start, time, value, kind = NO_SIZE, NO_SIZE, NO_SIZE, NO_SIZE, NO_SIZE
    topic, partition, node, text_bytes = NULL, NULL, NULL, NO_SIZE
    while at < end:
        key = _byte(data, at)
        if key == KEY_7:
            size, at = _read_size(data, at, end)
            if at < 0:
                return -1
            name, word = _read_plain_attribute(
                data, at, at + size, words, slots, text, counts
            )
            at += size
            if name < 0:
                return -1
            text_bytes += words[U(name), W_LENGTH] + words[U(word), W_LENGTH]
            text_bytes += NUMBER_BYTES
            if name == NODE_DOT_ID:
                name = NODE_ID
            if name == TOPIC:
                topic = word
            elif name == PARTITION:
                partition = word
            elif name == NODE_ID:
                node = word
            if words[U(name), W_OWNER] == owner:
                pairs[POINT_ATTRIBUTES, RIGHT, U(words[U(name), W_ROW])] = word
                continue
            if pair >= pairs.shape[2]:
                return -1
            words[U(name), W_OWNER] = owner
            words[U(name), W_ROW] = pair
            pairs[POINT_ATTRIBUTES, LEFT, U(pair)] = name
            pairs[POINT_ATTRIBUTES, RIGHT, U(pair)] = word
            pair += 1
            continue
        if key == KEY_FLAGS:
            flags, at = _read_varint(data, at + 1, end)
            if at < 0:
                return -1
            continue
        if end - at < 9:
            return -1
        number = _read_fixed64(data, at + 1)
        at += 9
        if key == KEY_TIME:
            time = number
        elif key == KEY_START:
            start = number
        elif key == KEY_DOUBLE:
            value = number
            kind = IS_DOUBLE
        elif key == KEY_LONG:
            value = number
            kind = IS_LONG
        else:
            return -1
    rows[P_ATTRIBUTES, U(row)] = pair
    rows[P_DISTRIBUTION, U(row)] = 0
    rows[P_FLAGS, U(row)] = flags
    rows[P_START, U(row)] = start
    rows[P_TIME, U(row)] = time
    rows[P_VALUE, U(row)] = value
    rows[P_VALUE_KIND, U(row)] = kind
    rows[P_TOPIC, U(row)] = topic
    rows[P_PARTITION, U(row)] = partition
    rows[P_NODE, U(row)] = node
    rows[P_TEXT, U(row)] = text_bytes
    return pair


@compiled_part
def _walk_plain_push(  # noqa: C901, PLR0911, PLR0912, PLR0915 - one loop a level
    data: Bytes,
    start: int,
    end: int,
    push: int,
    rows: Table,
    pairs: Table,
    words: Table,
    slots: Table,
    text: Bytes,
    counts: Table,
) -> bool:
    """Walk a push that holds what clients send and nothing else; says whether it did.

    It keeps rows only when the whole push was so: a gauge or a sum a metric, a resource
    before the metrics, attributes that are texts or integers. A resource that repeats
    the one before, byte for byte, is the same row.
    """
    point = counts[POINTS]
    metric = counts[METRICS]
    scope = counts[SCOPES]
    resource = counts[RESOURCES]
    point_pair = counts[C_POOLS + POINT_ATTRIBUTES]
    resource_pair = counts[C_POOLS + RESOURCE_ATTRIBUTES]
    last_at, last_size, size = NO_SIZE, -1, NO_SIZE
    max_rows: int = rows.shape[1]
    at = start
    while at < end:
        if data[U(at)] != KEY_1:
            return False
        size, at = _read_size(data, at, end)
        if at < 0:
            return False
        resource_end = at + size
        # The resource comes first, or is empty.
        size, body = NO_SIZE, at
        if at < resource_end and data[U(at)] == KEY_1:
            size, body = _read_size(data, at, resource_end)
            if body < 0:
                return False
        at = body + size
        if size != last_size or not _is_same(data, body, data, last_at, size):
            resource_pair = _walk_plain_resource(
                data,
                body,
                at,
                push,
                resource,
                resource_pair,
                rows,
                pairs,
                words,
                slots,
                text,
                counts,
            )
            if resource_pair < 0:
                return False
            resource += 1
            last_at, last_size = body, size
        while at < resource_end:
            if data[U(at)] != KEY_2:
                return False
            size, at = _read_size(data, at, resource_end)
            if at < 0 or scope >= max_rows:
                return False
            scope_end = at + size
            scope_name, scope_version = NULL, NULL
            if at < scope_end and data[U(at)] == KEY_1:
                size, at = _read_size(data, at, scope_end)
                if at < 0:
                    return False
                head_end = at + size
                while at < head_end:
                    key = _byte(data, at)
                    if key != KEY_1 and key != KEY_2:
                        return False
                    size, at = _read_size(data, at, head_end)
                    if at < 0:
                        return False
                    word = _intern_bytes(
                        data, at, at + size, TEXT_WORD, words, slots, text, counts
                    )
                    at += size
                    if word < 0:
                        return False
                    if word == EMPTY:
                        word = NULL
                    if key == KEY_1:
                        scope_name = word
                    else:
                        scope_version = word
            rows[S_NAME, U(scope)] = scope_name
            rows[S_VERSION, U(scope)] = scope_version
            rows[S_TEXT, U(scope)] = (
                words[U(scope_name), W_LENGTH] + words[U(scope_version), W_LENGTH]
            )
            scope += 1
            while at < scope_end:
                if data[U(at)] != KEY_2:
                    return False
                size, at = _read_size(data, at, scope_end)
                if at < 0 or metric >= max_rows:
                    return False
                metric_end = at + size
                name, description, unit, kind = NULL, NULL, NULL, NO_SIZE
                temporality, is_monotonic = NO_SIZE, NO_SIZE
                while at < metric_end:
                    key = _byte(data, at)
                    size, at = _read_size(data, at, metric_end)
                    if at < 0:
                        return False
                    if key == KEY_1 or key == KEY_2 or key == KEY_3:
                        word = _intern_bytes(
                            data, at, at + size, TEXT_WORD, words, slots, text, counts
                        )
                        at += size
                        if word < 0:
                            return False
                        if word == EMPTY:
                            word = NULL
                        if key == KEY_1:
                            name = word
                        elif key == KEY_2:
                            description = word
                        else:
                            unit = word
                        continue
                    if kind != NO_SIZE or (key != KEY_5 and key != KEY_7):
                        return False
                    kind = GAUGE_KIND if key == KEY_5 else SUM_KIND
                    data_end = at + size
                    while at < data_end:
                        key = _byte(data, at)
                        if key == KEY_1:
                            size, at = _read_size(data, at, data_end)
                            if at < 0:
                                return False
                            point_pair = _walk_plain_point(
                                data,
                                at,
                                at + size,
                                point,
                                point_pair,
                                rows,
                                pairs,
                                words,
                                slots,
                                text,
                                counts,
                            )
                            if point_pair < 0:
                                return False
                            rows[P_METRIC, U(point)] = metric
                            rows[P_SCOPE, U(point)] = scope - 1
                            rows[P_RESOURCE, U(point)] = resource - 1
                            point += 1
                            at += size
                            continue
                        if kind != SUM_KIND:
                            return False
                        number, at = _read_varint(data, at + 1, data_end)
                        if at < 0:
                            return False
                        if key == KEY_TEMPORALITY:
                            temporality = number
                        elif key == KEY_IS_MONOTONIC:
                            is_monotonic = number
                        else:
                            return False
                rows[M_PUSH, U(metric)] = push
                rows[M_NAME, U(metric)] = name
                rows[M_DESCRIPTION, U(metric)] = description
                rows[M_UNIT, U(metric)] = unit
                rows[M_KIND, U(metric)] = kind
                rows[M_TEMPORALITY, U(metric)] = temporality
                rows[M_IS_MONOTONIC, U(metric)] = is_monotonic
                rows[M_TEXT, U(metric)] = (
                    words[U(name), W_LENGTH]
                    + words[U(description), W_LENGTH]
                    + words[U(unit), W_LENGTH]
                )
                metric += 1
    counts[POINTS] = point
    counts[METRICS] = metric
    counts[SCOPES] = scope
    counts[RESOURCES] = resource
    counts[C_POOLS + POINT_ATTRIBUTES] = point_pair
    counts[C_POOLS + RESOURCE_ATTRIBUTES] = resource_pair
    return True


@compiled_part
def _add_cost(rows: Table, first: int, counts: Table) -> int:
    """Return what the points from `first` on will take in Arrow, in bytes."""
    cost = NO_SIZE
    for point in range(first, counts[POINTS]):
        cost += POINT_BYTES + rows[P_TEXT, U(point)]
        metric = rows[P_METRIC, U(point)]
        scope = rows[P_SCOPE, U(point)]
        resource = rows[P_RESOURCE, U(point)]
        cost += rows[M_TEXT, U(metric)]
        cost += rows[S_TEXT, U(scope)]
        cost += rows[R_TEXT, U(resource)]
    return cost


@compiled
def walk_pushes(
    data: Bytes,
    spans: Table,
    first: int,
    max_cost: int,
    known: Bytes,
    known_ends: Table,
    fields: Table,
    resets: Table,
    rows: Table,
    pairs: Table,
    words: Table,
    slots: Table,
    text: Bytes,
    counts: Table,
    results: Table,
    registers: Table,
    frames: Table,
    before: Table,
    fault: Table,
) -> int:
    """Walk pushes until the tables are full; returns the first push not walked.

    Args:
        data: The bytes of all pushes.
        spans: start, end, is_exact of each push in data.
        first: The push to begin with; the tables are empty.
        max_cost: Bytes of Arrow after which to stop, and more than one push may take.
        known: The well-known strings, joined.
        known_ends: Where each of them ends.
        fields: What each field means; FIELD_NUMBERS rows a message.
        resets: First and last register of each message, and whether it has attributes.
        rows: Tables side by side, one row a column, filled.
        pairs: Pools, filled.
        words: Distinct strings, filled.
        slots: Hash table of their numbers, filled.
        text: Their bytes, filled.
        counts: Rows used in each of the above, filled.
        results: status, position, size, end of its points; one row a push, filled.
        registers: Room for the registers.
        frames: Room for the stack.
        before: Room for the counts before a push.
        fault: Room for position and size of what is bad.
    Returns: The number of the first push that was not walked.
    """
    _add_word(words, NULL, NULL, TEXT_WORD, NO_SIZE, NO_SIZE)
    counts[C_STRINGS] = NULL + 1
    known_at = NO_SIZE
    for word in range(known_ends.shape[0]):
        end = known_ends[word]
        _intern_bytes(known, known_at, end, TEXT_WORD, words, slots, text, counts)
        known_at = end
    pushes: int = spans.shape[0]
    for push in range(first, pushes):
        for index in range(ROLLED_BACK):
            before[index] = counts[index]
        fault[0] = spans[U(push), 0]
        fault[1] = 0
        status = OK
        start, end = spans[U(push), 0], spans[U(push), 1]
        if not _walk_plain_push(
            data, start, end, push, rows, pairs, words, slots, text, counts
        ):
            status = _walk_push(
                data,
                start,
                end,
                push,
                spans[U(push), 2] != 0,
                fields,
                resets,
                rows,
                pairs,
                words,
                slots,
                text,
                registers,
                frames,
                counts,
                fault,
            )
        if status == OK:
            cost = _add_cost(rows, before[POINTS], counts)
            counts[C_COST] += cost
            if counts[C_COST] > max_cost:
                status = NO_ROOM
        if status != OK:
            for index in range(ROLLED_BACK):
                counts[index] = before[index]
        if status == NO_ROOM and push > first:
            return push
        results[U(push), 0] = status
        results[U(push), 1] = fault[0] - spans[U(push), 0]
        results[U(push), 2] = fault[1]
        results[U(push), 3] = counts[POINTS]
    return pushes
