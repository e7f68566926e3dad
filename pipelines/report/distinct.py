"""Names that distinguish principals and clusters without repeating shared parts.

`User:` is left out if all principals are users. A column of clusters or of principals
is left out where there is only one.
"""

from dataclasses import dataclass, replace

import pyarrow as pa

from .fleet import Change, Detail, Fleet, Part, Picture

USER = "User:"
_CLUSTER, _PRINCIPAL = "cluster", "principal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Properties that all clients of a page share."""

    cluster: str | None
    """The only cluster; null: several, or not known."""
    principal: str | None
    """The only principal; null: several, or not known."""
    is_user: bool
    """Whether each principal is a user."""


def find_shared(clients: pa.Table) -> Shared:
    """Return the properties that all clients share."""
    clusters = set(clients.column("cluster_id").to_pylist()) - {None}
    principals = set(clients.column(_PRINCIPAL).to_pylist()) - {None}
    return Shared(
        cluster=next(iter(clusters)) if len(clusters) == 1 else None,
        principal=next(iter(principals)) if len(principals) == 1 else None,
        is_user=bool(principals) and all(one.startswith(USER) for one in principals),
    )


def leave_out_shared(fleet: Fleet, shared: Shared) -> Fleet:
    """Return a fleet whose tables and pictures do not repeat shared properties."""

    def of_part(part: Part) -> Part:
        return _shorten_part(part, shared)

    def of_titled(titled: tuple[str, Part]) -> tuple[str, Part]:
        title, part = titled
        return title, of_part(part)

    principals = fleet.clients.column(_PRINCIPAL).to_pylist()
    column = pa.array(
        [shorten_principal(one, shared) for one in principals], pa.string()
    )
    place = fleet.clients.column_names.index(_PRINCIPAL)
    return replace(
        fleet,
        clients=fleet.clients.set_column(place, _PRINCIPAL, column),
        details=[_shorten_detail(one, shared) for one in fleet.details],
        changes=[_shorten_change(one, shared) for one in fleet.changes],
        live=fleet.live if fleet.principals else _shorten_live(fleet.live, shared),
        limits=of_part(fleet.limits),
        outliers=of_part(fleet.outliers),
        disagreements=of_part(fleet.disagreements),
        brokers=of_part(fleet.brokers),
        drift=of_part(fleet.drift),
        not_told=[of_titled(one) for one in fleet.not_told],
        health=[of_titled(one) for one in fleet.health],
    )


def shorten_principal(principal: str | None, shared: Shared) -> str | None:
    """Return a principal without its type where all have the same type."""
    if principal is None or not shared.is_user:
        return principal
    return principal.removeprefix(USER)


def _shorten_part(part: Part, shared: Shared) -> Part:
    dropped = {
        name
        for name, only in ((_CLUSTER, shared.cluster), (_PRINCIPAL, shared.principal))
        if only is not None and name in part.names and len(part.names) > 1
    }
    if not dropped and not (shared.is_user and _PRINCIPAL in part.names):
        return part
    kept = [place for place, name in enumerate(part.names) if name not in dropped]
    rows = [
        tuple(_shorten_cell(part.names[place], row[place], shared) for place in kept)
        for row in part.rows
    ]
    return replace(part, names=tuple(part.names[place] for place in kept), rows=rows)


def _shorten_cell(name: str, value: object, shared: Shared) -> object:
    if name == _PRINCIPAL and isinstance(value, str):
        return shorten_principal(value, shared)
    return value


def _shorten_detail(detail: Detail, shared: Shared) -> Detail:
    return replace(
        detail,
        instances=_shorten_part(detail.instances, shared),
        configs=_shorten_part(detail.configs, shared),
        history=_shorten_part(detail.history, shared),
        quotas=_shorten_part(detail.quotas, shared),
    )


def _shorten_change(change: Change, shared: Shared) -> Change:
    return replace(change, detail=_shorten_part(change.detail, shared))


def _shorten_live(live: Picture, shared: Shared) -> Picture:
    rows = [
        (step, shorten_principal(str(name), shared), number)
        for step, name, number in live.rows
    ]
    return replace(live, rows=rows)
