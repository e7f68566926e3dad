"""How many connections an address makes, and how long the next one must wait.

Strategy: Kafka's arithmetic of connection_creation_rate. A connection that is one too
many has not been made yet: it is not recorded, and asks again when its time is over.
Kept are the addresses that have come last.
Source: KIP-612; Kafka 4.3.1, ConnectionQuotas of SocketServer.scala.
"""

from collections import OrderedDict

from .limits import QuotaLimits
from .rates import QuotaRate, QuotaWindows

MAX_ADDRESSES = 10_000


class AddressRates:
    """The addresses of one worker."""

    def __init__(self, windows: QuotaWindows) -> None:
        """Begin with no limits."""
        self._windows = windows
        self._limits = QuotaLimits()
        self._rates: OrderedDict[str, QuotaRate] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rates)

    @property
    def are_limited(self) -> bool:
        """Whether any address has a limit."""
        return self._limits.has_addresses

    def update(self, limits: QuotaLimits) -> None:
        """Put other limits in force; what was recorded stays."""
        self._limits = limits

    def connect(self, address: str, now_ms: int) -> int:
        """Record a connection; return for how many milliseconds it must wait instead.

        Nulls: 0 where it need not, and has been recorded.
        """
        limit = self._limits.allow_address(address)
        if limit is None:
            return 0
        rate = self._rates.get(address)
        if rate is None:
            # A broker lets no connection wait longer than a window at once.
            rate = QuotaRate(limit, self._windows, most_ms=self._windows.window_ms)
            self._rates[address] = rate
            if len(self._rates) > MAX_ADDRESSES:
                self._rates.popitem(last=False)
        rate.limit = limit
        self._rates.move_to_end(address)
        wait_ms = rate.record(1, now_ms)
        if wait_ms:
            rate.take_back(1)
        return wait_ms
