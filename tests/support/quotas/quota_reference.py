"""Quotas as a broker resolves them, one client and one key at a time.

Written down from KIP-55 and the notes on Kafka's behaviour, step by step, and not from
the kernel: what the two say is compared.
"""

from urllib.parse import quote

DEFAULT = object()
"""In the place of a name: the default entity."""
ADDRESS_KEY = "connection_creation_rate"
KEYS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    ADDRESS_KEY,
)
LEVEL = {
    ("name", "name"): 1,
    ("name", "default"): 2,
    ("name", None): 3,
    ("default", "name"): 4,
    ("default", "default"): 5,
    ("default", None): 6,
    (None, "name"): 7,
    (None, "default"): 8,
}


def sanitize(name):
    return quote(name, safe="").replace("~", "%7E")


def show(name):
    return "<default>" if name is DEFAULT else sanitize(name)


class Broker:
    """The quotas of one key, and the clients that ask."""

    def __init__(self, ever=()):
        self.quotas = {}
        self.kinds = set(ever)

    def set(self, user, client, value):
        self.quotas[user, client] = value
        self.kinds.add(self.kind(user, client))

    @staticmethod
    def kind(user, client):
        if user is not None and client is not None:
            return "user,client-id"
        return "user" if user is not None else "client-id"

    def tags(self, user, client):
        if not self.kinds or self.kinds == {"client-id"}:
            return "", client
        if self.kinds == {"user"}:
            return user, ""
        if self.kinds == {"user,client-id"}:
            return user, client
        walk = (
            ((user, client), (user, client)),
            ((user, DEFAULT), (user, client)),
            ((user, None), (user, "")),
            ((DEFAULT, client), (user, client)),
            ((DEFAULT, DEFAULT), (user, client)),
            ((DEFAULT, None), (user, "")),
        )
        for entity, tags in walk:
            if entity in self.quotas:
                return tags
        return "", client

    def limit(self, user, client):
        """Return the entity whose quota counts for tags; None: there is none."""
        if user and client:
            places = [(user, client), (user, DEFAULT), (DEFAULT, client)]
            places.append((DEFAULT, DEFAULT))
        elif user:
            places = [(user, None), (DEFAULT, None)]
        elif client:
            places = [(None, client), (None, DEFAULT)]
        else:
            places = []
        for place in places:
            if place in self.quotas:
                return place
        return None

    def resolve(self, user, client):
        """Return what RESOLVED_SCHEMA has behind the key."""
        user_tag, client_tag = self.tags(user, client)
        entity = self.limit(user_tag, client_tag)
        tags = (sanitize(user_tag), client_tag, f"{sanitize(user_tag)}:{client_tag}")
        if entity is None:
            return (None, None, None, *tags)
        forms = tuple(
            None if one is None else "default" if one is DEFAULT else "name"
            for one in entity
        )
        path = "/".join(
            f"{plural}/{show(name)}"
            for plural, name in zip(("users", "clients"), entity, strict=True)
            if name is not None
        )
        return (self.quotas[entity], LEVEL[forms], path, *tags)


class Addresses:
    """The quotas of addresses."""

    def __init__(self):
        self.quotas = {}

    def resolve(self, address):
        if address in self.quotas:
            path = f"ips/{sanitize(address)}"
            return (self.quotas[address], 1, path, None, None, None)
        if DEFAULT in self.quotas:
            return (self.quotas[DEFAULT], 2, "ips/<default>", None, None, None)
        return (None,) * 6


def resolve_all(entities, clients, ever=None):
    """Resolve what the kernel resolves.

    Args:
        entities: Rows of ENTITY_SCHEMA.
        clients: Triples of user (with `User:` or without), client id and address.
        ever: By key the kinds that were ever set.
    Returns: Rows of RESOLVED_SCHEMA as tuples.
    """
    brokers = {key: Broker((ever or {}).get(key, ())) for key in KEYS[:-1]}
    addresses = Addresses()
    for row in entities:
        if row["quota_key"] == ADDRESS_KEY:
            name = DEFAULT if row["is_default_ip"] else row["ip"]
            addresses.quotas[name] = row["quota_value"]
            continue
        user = DEFAULT if row["is_default_user"] else row["user_name"]
        client = DEFAULT if row["is_default_client_id"] else row["client_id"]
        brokers[row["quota_key"]].set(user, client, row["quota_value"])
    rows = []
    for index, (user, client, address) in enumerate(clients):
        name = (user or "").removeprefix("User:")
        for key in KEYS:
            found = (
                addresses.resolve(address)
                if key == ADDRESS_KEY
                else brokers[key].resolve(name, client or "")
            )
            rows.append((index, key, *found))
    return rows
