"""Who shares which limit, and what was used of it; bounded, whoever comes.

Strategy: a quota-id and key is one share, which all its clients use up. A connection
keeps a claim to its shares, so that a push costs no look-up; a claim that is of older
limits is made anew. Kept are the claims that were wanted last and those of connections
that are open: a share lasts as long as any of its claims. Each worker counts for
itself, as each broker does.
Source: KIP-55; Kafka 4.3.1, ClientQuotaManager.java, ClientRequestQuotaManager.java.
"""

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakValueDictionary

from pipelines.bridge.core.handlers import Connection
from pipelines.bridge.core.sampled_stats import SampledStat

from .limits import QuotaLimits, Tags
from .rates import QuotaRate, QuotaWindows

TIME_KEY = "request_percentage"
MAX_CLAIMS = 10_000
"""Of clients that are gone; those that are there have theirs in any case."""
NS_PER_MS = 1_000_000
_NS_TO_PERCENT = 100.0 / 1_000_000_000
"""Nanoseconds of one thread to percent of it, recorded per second."""
_LEAST_NS = 500_000
"""Time is recorded when so much has been spent: that of a push is a tenth of it."""
_MS = 1_000


class Share:
    """One quota-id and key."""

    __slots__ = (
        "__weakref__",
        "key",
        "rate",
        "tags",
        "throttled",
        "throttles",
        "until_ms",
    )

    def __init__(self, key: str, tags: Tags, rate: QuotaRate) -> None:
        self.key = key
        self.tags = tags
        self.rate = rate
        self.until_ms = 0
        """Until then it is over its limit."""
        self.throttles = 0
        """How often one of its clients had to wait for it."""
        self.throttled: SampledStat | None = None
        """How long they had to; None before the first time."""

    def throttle(self, wait_ms: int, now_ms: int) -> None:
        """Note that a client must wait for this share."""
        self.until_ms = max(self.until_ms, now_ms + wait_ms)
        self.throttles += 1
        if self.throttled is None:
            self.throttled = SampledStat()
        self.throttled.record(wait_ms, now_ms / _MS)


class Claim:
    """The shares of one client; clients with one name and client id have it together.

    Either is None where nothing is set that applies.
    """

    __slots__ = ("is_free", "of", "push", "spent_ns", "time")

    def __init__(
        self, of: QuotaLimits, time: Share | None = None, push: Share | None = None
    ) -> None:
        self.of = of
        """The limits that it was made of."""
        self.time = time
        self.push = push
        self.is_free = time is None and push is None
        self.spent_ns = 0
        """Handling time that has not been recorded yet."""

    def charge(self, size_bytes: int, now_ms: int) -> int:
        """Record a request that is answered now; return how long its client waits."""
        time_ms = push_ms = 0
        time, push = self.time, self.push
        if self.spent_ns >= _LEAST_NS and time is not None:
            spent_ns, self.spent_ns = self.spent_ns, 0
            time_ms = time.rate.record(spent_ns * _NS_TO_PERCENT, now_ms)
        if push is not None and size_bytes:
            push_ms = push.rate.record(size_bytes, now_ms)
        if not (time_ms or push_ms):
            return 0
        return self._throttle(time_ms, push_ms, now_ms)

    def rest_ms(self, now_ms: int) -> int:
        """Return how long a share of it is over its limit still."""
        until_ms = max(
            one.until_ms for one in (self.time, self.push) if one is not None
        )
        return max(until_ms - now_ms, 0)

    def _throttle(self, time_ms: int, push_ms: int, now_ms: int) -> int:
        """Count the wait where it is longest, as a broker does."""
        if self.push is not None and push_ms > time_ms:
            self.push.throttle(push_ms, now_ms)
            return push_ms
        if self.time is not None:
            self.time.throttle(time_ms, now_ms)
        return time_ms


class ShareUse(NamedTuple):
    """What operators see of a share."""

    key: str
    tags: Tags
    rate: float
    """Of bytes, or of percent of a thread, per second."""
    throttle_ms: float
    """Mean of the last one to two windows of 30 s; NaN where nobody had to wait."""
    throttles: int
    is_named: bool = False
    """Whether a quota names its client ID, or applies whatever the client ID is."""


def _by_waiting(share: Share) -> tuple[int, float]:
    return share.until_ms, share.rate.total


class ClientQuotas:
    """The shares of one worker."""

    def __init__(self, windows: QuotaWindows, push_key: str) -> None:
        """Begin with no limits.

        Args:
            push_key: The quota that bytes of pushes count against; empty counts none.
        """
        self.limits = QuotaLimits()
        self.most_held_ms = windows.all_ms
        """Longest time that a connection is not read because of a limit."""
        self._windows = windows
        self._push_key = push_key
        self._free = Claim(self.limits)
        self._claims: OrderedDict[tuple[str, str | None], Claim] = OrderedDict()
        self._shares: WeakValueDictionary[tuple[str, Tags], Share] = (
            WeakValueDictionary()
        )

    def __len__(self) -> int:
        return len(self._shares)

    def update(self, limits: QuotaLimits) -> None:
        """Put other limits in force; what was recorded stays."""
        self.limits = limits
        self._free = Claim(limits)

    def claim(self, connection: Connection) -> Claim:
        """Return the claim of a connection, and note it there."""
        identity = connection.identity
        name = identity.principal, identity.client_id
        claim = self._claims.get(name)
        if claim is None or claim.of is not self.limits:
            claim = self._make_claim(*name)
            if claim.is_free:
                self._claims.pop(name, None)
            else:
                self._claims[name] = claim
                if len(self._claims) > MAX_CLAIMS:
                    self._claims.popitem(last=False)
        if not claim.is_free:
            self._claims.move_to_end(name)
        connection.quotas = claim
        return claim

    def uses(self, now_ms: int, most: int) -> Iterator[ShareUse]:
        """Return what is used of some shares: who had to wait last, then who uses most.

        Args:
            most: How many.
        """
        # Working out the rate of each would keep pushes waiting.
        for share in heapq.nlargest(most, self._shares.values(), key=_by_waiting):
            stat = share.throttled
            yield ShareUse(
                key=share.key,
                tags=share.tags,
                rate=share.rate.measure(now_ms),
                throttle_ms=(
                    float("nan") if stat is None else stat.average(now_ms / _MS)
                ),
                throttles=share.throttles,
                is_named=(share.tags.client_id or None) in self.limits.client_ids,
            )

    def _make_claim(self, principal: str, client_id: str | None) -> Claim:
        time = self._find(principal, client_id, TIME_KEY)
        push = self._find(principal, client_id, self._push_key)
        if time is None and push is None:
            return self._free
        return Claim(self.limits, time, push)

    def _find(self, principal: str, client_id: str | None, key: str) -> Share | None:
        allowed = self.limits.allow(principal, client_id, key)
        if allowed is None:
            return None
        share = self._shares.get((key, allowed.tags))
        if share is None:
            # A broker lets nobody wait longer than a window for its time.
            most_ms = self._windows.window_ms if key == TIME_KEY else None
            rate = QuotaRate(allowed.limit, self._windows, most_ms=most_ms)
            share = self._shares[key, allowed.tags] = Share(key, allowed.tags, rate)
        if share.rate.limit != allowed.limit:
            share.rate.limit = allowed.limit
            # The wait was worked out for another limit.
            share.until_ms = 0
        return share
