"""Which dynamic configs apply to a client, and whose they are.

Source: KIP-649, Broker Changes: (user, client-id) over (user, default client-id) over
the user; the proposal's list leaves out the second, its text does not.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from .records import CLIENT_ID, USER, Entity

DYNAMIC_CLIENT = "dynamic_client"
DYNAMIC_DEFAULT_CLIENT = "dynamic_default_client"
DYNAMIC_USER = "dynamic_user"


class ResolvedValue(NamedTuple):
    """What applies of one key."""

    config_value: str
    source: str
    """Whose value it is: one of the three above."""


def resolve_configs(
    user_name: str,
    client_id: str | None,
    find: Callable[[Entity], Mapping[str, str]],
) -> dict[str, ResolvedValue]:
    """Return the value of each key that applies to a client, keys in their order.

    Args:
        user_name: Principal, without its type.
        find: Returns what is set for an entity; nothing where nothing is.
    Nulls: A client without a client id, or with the empty one, has the default's.
    """
    user: Entity = ((USER, user_name),)
    # Lowest first: each one stands over those before it.
    levels: list[tuple[str, Entity]] = [
        (DYNAMIC_USER, user),
        (DYNAMIC_DEFAULT_CLIENT, (*user, (CLIENT_ID, None))),
    ]
    if client_id:
        levels.append((DYNAMIC_CLIENT, (*user, (CLIENT_ID, client_id))))
    resolved = {
        key: ResolvedValue(value, source)
        for source, entity in levels
        for key, value in find(entity).items()
    }
    return dict(sorted(resolved.items()))
