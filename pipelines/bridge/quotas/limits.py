"""What the quotas of a cluster allow one client: its tags, and their limit.

Strategy: as a broker does it, first the tags, then the limit of these tags. For one
client at a time, with dictionaries alone: a bridge asks at each new connection, and
needs no columns for it. `udfs.quotas` says the same of millions of clients.
Source: Kafka 4.3.1, ClientQuotaManager.DefaultQuotaCallback.
"""

import ipaddress
import math
from collections.abc import Iterable
from typing import NamedTuple

from pipelines.bridge.core.client_identity import address_text
from udfs.cluster.record_keys import sanitize

USER, CLIENT_ID, IP = "user", "client-id", "ip"
CONNECTION_KEY = "connection_creation_rate"
_PRINCIPAL_TYPE = "User:"
_DEFAULT = None
"""In the place of a name: the default entity."""


class SetQuota(NamedTuple):
    """One key of one entity."""

    entity: tuple[tuple[str, str | None], ...]
    """Entity types and names; a name is null for the default entity."""
    key: str
    value: float


class Tags(NamedTuple):
    """Who shares a quota."""

    user: str
    """Percent-encoded, as a broker's metrics have it."""
    client_id: str


class Allowed(NamedTuple):
    """What one key allows one client."""

    tags: Tags
    limit: float


class _KeyLimits:
    """What is set for one key of users and client ids."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[str | None, str | None], float] = {}
        self.users: dict[str | None, float] = {}
        self.clients: dict[str | None, float] = {}

    def put(self, names: dict[str, str | None], value: float) -> None:
        if USER in names and CLIENT_ID in names:
            self.pairs[names[USER], names[CLIENT_ID]] = value
        elif USER in names:
            self.users[names[USER]] = value
        elif CLIENT_ID in names:
            self.clients[names[CLIENT_ID]] = value

    def tag(self, user: str, client_id: str) -> tuple[str, str]:
        """Return the names that count; where one kind is set alone, no more is seen."""
        if not (self.users or self.pairs):
            return "", client_id
        if not (self.clients or self.pairs):
            return user, ""
        if not (self.users or self.clients):
            return user, client_id
        for name in (user, _DEFAULT):
            if (name, client_id) in self.pairs or (name, _DEFAULT) in self.pairs:
                return user, client_id
            if name in self.users:
                return user, ""
        return "", client_id

    def find(self, user: str, client_id: str) -> float | None:
        """Return the limit of names that were tagged.

        Nulls: None where nothing is set.
        """
        if user and client_id:
            return next(
                (
                    self.pairs[name, one]
                    for name in (user, _DEFAULT)
                    for one in (client_id, _DEFAULT)
                    if (name, one) in self.pairs
                ),
                None,
            )
        if user:
            return self.users.get(user, self.users.get(_DEFAULT))
        if client_id:
            return self.clients.get(client_id, self.clients.get(_DEFAULT))
        return None


class QuotaLimits:
    """All quotas of a cluster at one moment."""

    def __init__(self, quotas: Iterable[SetQuota] = ()) -> None:
        self._by_key: dict[str, _KeyLimits] = {}
        self._addresses: dict[str | None, float] = {}
        self.client_ids: set[str | None] = set()
        """Client IDs that quotas name."""
        for quota in quotas:
            names = dict(quota.entity)
            # A value such as NaN limits nobody, but still overrides the next level.
            value = quota.value if quota.value > 0 else math.inf
            self.client_ids.add(names.get(CLIENT_ID))
            if IP not in names:
                limits = self._by_key.setdefault(quota.key, _KeyLimits())
                limits.put(names, value)
            elif quota.key == CONNECTION_KEY:
                self._addresses[_spell(names[IP])] = value

    @property
    def has_addresses(self) -> bool:
        """Whether any address has a limit."""
        return bool(self._addresses)

    def allow(self, principal: str, client_id: str | None, key: str) -> Allowed | None:
        """Return what a key allows a client.

        Args:
            principal: With its type `User:` or without.
        Nulls: None where nothing is set that applies. A client without a client id has
            the empty one.
        """
        limits = self._by_key.get(key)
        if limits is None:
            return None
        user = principal.removeprefix(_PRINCIPAL_TYPE)
        user_tag, client_tag = limits.tag(user, client_id or "")
        limit = limits.find(user_tag, client_tag)
        if limit is None:
            return None
        return Allowed(Tags(sanitize(user_tag), client_tag), limit)

    def allow_address(self, address: str) -> float | None:
        """Return how many connections a second an address may make.

        Args:
            address: As client_identity spells it.
        Nulls: None where it may make any.
        """
        return self._addresses.get(address, self._addresses.get(_DEFAULT))


def _spell(address: str | None) -> str | None:
    """Return an address as connections have theirs; what is none stays as it is."""
    if address is None:
        return None
    try:
        return address_text(str(ipaddress.ip_address(address)))
    except ValueError:
        return address
