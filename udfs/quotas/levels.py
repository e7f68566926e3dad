"""Whose quotas a client may fall under, in the order in which a broker looks."""

from .entities import CLIENT_ID, CONNECTION_KEY, IP, USER, QuotaEntity


def list_levels(
    user_name: str, client_id: str, address: str, quota_key: str
) -> tuple[QuotaEntity, ...]:
    """Return the entities of each level, from 1 on.

    Args:
        user_name: Without its type.
        address: Where the client comes from; connection_creation_rate goes by it.
    """
    if quota_key == CONNECTION_KEY:
        return _entities(({IP: address}, {IP: None}))
    return _entities(
        (
            {USER: user_name, CLIENT_ID: client_id},
            {USER: user_name, CLIENT_ID: None},
            {USER: user_name},
            {USER: None, CLIENT_ID: client_id},
            {USER: None, CLIENT_ID: None},
            {USER: None},
            {CLIENT_ID: client_id},
            {CLIENT_ID: None},
        )
    )


def _entities(levels: tuple[dict[str, str | None], ...]) -> tuple[QuotaEntity, ...]:
    return tuple(QuotaEntity(parts=tuple(level.items())) for level in levels)
