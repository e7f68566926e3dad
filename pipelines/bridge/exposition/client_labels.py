"""Label values that clients choose, as /metrics may show them.

Client IDs are hidden and bounded as in the headers of records. A bridge shows a bounded
number of them over its life: later ones share one series, because Prometheus stores
each label value that it has ever read.
"""

import math
from collections.abc import Iterable, Mapping

from pipelines.bridge.core.client_identity import MAX_TEXT_BYTES
from pipelines.bridge.core.records import hide_secret
from pipelines.bridge.quotas.limits import Tags
from udfs.sensitive.bounded_texts import bound_text
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

OTHERS = "(other)"
"""Label of everything beyond the bound."""
MOST_LABELS = 10_000
"""Quota IDs, and client instances, that one bridge shows by name over its life."""


class ClientLabels:
    """Labels that were shown since the start."""

    def __init__(self, rules: SensitiveKeyRules, most: int = MOST_LABELS) -> None:
        """Start with no labels.

        Args:
            rules: Rules that hide client IDs.
            most: Maximum number of quota IDs, and of client instances.
        """
        self._rules = rules
        self._most = most
        self._quota_ids: dict[Tags, Tags] = {}
        self._instances: set[str] = set()

    def of_quota(self, tags: Tags, *, is_named: bool) -> Tags:
        """Return the labels of a quota ID.

        Args:
            tags: User and client ID, as the client sent them.
            is_named: Whether a quota names this client ID; such labels have no bound.
        """
        shown = self._quota_ids.get(tags)
        if shown is not None:
            return shown
        is_full = len(self._quota_ids) >= self._most
        if is_full and not is_named:
            return Tags(OTHERS, OTHERS)
        client_id, _ = hide_secret(tags.client_id, self._rules)
        if client_id is tags.client_id:
            client_id = bound_text(client_id, MAX_TEXT_BYTES)
        shown = Tags(bound_text(tags.user, MAX_TEXT_BYTES), client_id)
        if not is_full:
            self._quota_ids[tags] = shown
        return shown

    def of_instances(
        self, values: Mapping[str, float], *, are_summed: bool
    ) -> Mapping[str, float]:
        """Return values by client instance, of those beyond the bound together.

        Args:
            values: Values by client instance ID.
            are_summed: Whether values of several instances add up; otherwise the
                largest one is returned.
        """
        shown: dict[str, list[float]] = {}
        for instance, value in values.items():
            if len(self._instances) < self._most:
                self._instances.add(instance)
            label = instance if instance in self._instances else OTHERS
            shown.setdefault(label, []).append(value)
        join = math.fsum if are_summed else largest
        return {label: join(parts) for label, parts in shown.items()}


def largest(values: Iterable[float]) -> float:
    """Return the largest number; NaN if there is none."""
    return max((one for one in values if not math.isnan(one)), default=math.nan)
