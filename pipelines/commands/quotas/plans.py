"""How a file of quotas and a cluster differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from udfs.quotas import Alteration, parse_entity_path

ADDITION, CHANGE, REMOVAL = KINDS = ("addition", "change", "removal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One quota that a file and the cluster do not have alike."""

    kind: str
    path: str
    before: float | None
    alteration: Alteration


def list_differences(
    current: Mapping[tuple[str, str], float], wanted: Sequence[Alteration]
) -> list[Difference]:
    """Return what would make the cluster's quotas those of a file; by path and key.

    Args:
        current: Path and key to value.
    """
    named = {(one.entity.path, one.quota_key): one for one in wanted}
    found = []
    for path, key in sorted({*current, *named}):
        before, one = current.get((path, key)), named.get((path, key))
        if one is None:
            entity = parse_entity_path(path)
            one = Alteration(entity=entity, quota_key=key, quota_value=None)
        if before == one.quota_value:
            continue
        kind = CHANGE
        if before is None or one.quota_value is None:
            kind = ADDITION if before is None else REMOVAL
        found.append(Difference(kind=kind, path=path, before=before, alteration=one))
    return found
