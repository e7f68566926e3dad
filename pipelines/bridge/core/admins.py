"""Principals that may administer through the bridge."""

from collections.abc import Iterable

from pipelines.errors import InvalidSetting

_ADMIN_PRINCIPALS = "bridge.admin_principals"


def check_principals(principals: Iterable[str]) -> frozenset[str]:
    """Return the principals that may administer.

    Raises: InvalidSetting for one that no client can have.
    """
    checked = frozenset(principals)
    for one in checked:
        kind, separator, name = one.partition(":")
        if not (kind and separator and name):
            raise InvalidSetting(
                f"{_ADMIN_PRINCIPALS}: {one!r} is no principal, such as User:admin"
            )
    return checked
