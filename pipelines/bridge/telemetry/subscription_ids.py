"""SubscriptionId and the order of RequestedMetrics, as Apache Kafka has them.

Strategy: clients carry a SubscriptionId from one broker to the next, so bridges and
brokers can stand side by side only when they compute the same number from the same
subscriptions. The number hides the iteration order of Java's hash tables; it is
modelled here, up to buckets that Java turns into trees (nine colliding names).
Source: Kafka, ClientMetricsManager.java; java.util.HashMap, ConcurrentHashMap.
"""

import uuid
from collections.abc import Iterable, Sequence

_DEFAULT_CAPACITY = 16
_TREE_CAPACITY = 64
_LONGEST_BUCKET = 8
_UINT32 = 2**32
_UINT64 = 2**64
_SIGN_BIT = 2**31
_CASTAGNOLI_REFLECTED = 0x82F63B78


def string_hash(text: str) -> int:
    """Return Java's String.hashCode() as an unsigned number."""
    units = text.encode("utf-16-be", errors="surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) % _UINT32
    return value


def order_as_hash_set(groups: Iterable[Sequence[str]]) -> list[str]:
    """Return the union of groups in the order of the HashSet that a broker fills.

    Args:
        groups: The metric lists of the matching subscriptions, in the broker's order.
    """
    union = _HashOrder(_DEFAULT_CAPACITY)
    for group in groups:
        own = _HashOrder(_capacity_for(len(group)))
        for item in group:
            own.add(item)
        for item in own.items():
            union.add(item)
    return union.items()


def order_as_concurrent_map(names: Iterable[str]) -> list[str]:
    """Return names, put in one after the other, in ConcurrentHashMap's order."""
    order = _HashOrder(_DEFAULT_CAPACITY, is_concurrent=True)
    for name in names:
        order.add(name)
    return order.items()


def _capacity_for(size: int) -> int:
    # HashSet(Collection) asks for room for its argument, HashMap for a power of two.
    capacity = _DEFAULT_CAPACITY
    while capacity < int(size / 0.75) + 1:
        capacity *= 2
    return capacity


class _HashOrder:
    """Buckets of a Java hash table; only the order of what is in it."""

    def __init__(self, capacity: int, *, is_concurrent: bool = False) -> None:
        self._buckets: list[list[str]] = [[] for _ in range(capacity)]
        self._is_concurrent = is_concurrent
        self._size = 0

    def add(self, item: str) -> None:
        bucket = self._buckets[_spread(item) & (len(self._buckets) - 1)]
        if item in bucket:
            return
        bucket.append(item)
        self._size += 1
        capacity = len(self._buckets)
        is_crowded = len(bucket) > _LONGEST_BUCKET and capacity < _TREE_CAPACITY
        # A HashMap grows past three quarters, a ConcurrentHashMap on reaching them.
        limit = capacity * 3 // 4
        is_full = self._size >= limit if self._is_concurrent else self._size > limit
        if is_crowded and not self._is_concurrent:
            self._grow()
        if is_full and len(self._buckets) == capacity:
            self._grow()

    def items(self) -> list[str]:
        return [item for bucket in self._buckets for item in bucket]

    def _grow(self) -> None:
        capacity = len(self._buckets)
        low: list[list[str]] = []
        high: list[list[str]] = []
        for bucket in self._buckets:
            ordered = _transfer_order(bucket, capacity) if self._is_concurrent else None
            moved = bucket if ordered is None else ordered
            low.append([one for one in moved if not _spread(one) & capacity])
            high.append([one for one in moved if _spread(one) & capacity])
        self._buckets = low + high


def _spread(item: str) -> int:
    value = string_hash(item)
    return value ^ value >> 16


def _transfer_order(bucket: list[str], capacity: int) -> list[str]:
    """ConcurrentHashMap keeps a bucket's last run and turns the rest around."""
    last_run = 0
    for index in range(1, len(bucket)):
        before, here = _spread(bucket[index - 1]), _spread(bucket[index])
        if (before ^ here) & capacity:
            last_run = index
    return bucket[:last_run][::-1] + bucket[last_run:]


def _make_crc32c_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (_CASTAGNOLI_REFLECTED if value & 1 else 0)
        table.append(value)
    return tuple(table)


_CRC32C_TABLE = _make_crc32c_table()


def crc32c(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli) of bytes, unsigned.

    Source: RFC 3720, appendix B.4; crc32c(b"123456789") is 0xE3069283.
    """
    value = _UINT32 - 1
    for byte in data:
        value = value >> 8 ^ _CRC32C_TABLE[(value ^ byte) & 0xFF]
    return value ^ (_UINT32 - 1)


def uuid_hash(client_instance_id: uuid.UUID) -> int:
    """Return Kafka's Uuid.hashCode() as an unsigned number."""
    most_significant, least_significant = divmod(client_instance_id.int, _UINT64)
    halves = most_significant ^ least_significant
    return (halves >> 32 ^ halves) % _UINT32


def crc_input(metrics: Sequence[str], push_interval_ms: int) -> bytes:
    """Return what a broker's checksum runs over: Java's text of set and interval."""
    return f"[{', '.join(metrics)}]{push_interval_ms}".encode()


def subscription_id(checksum: int, client_instance_id: uuid.UUID) -> int:
    """Combine a checksum with a client instance; int32, as on the wire."""
    value = checksum ^ uuid_hash(client_instance_id)
    return value - _UINT32 if value >= _SIGN_BIT else value
