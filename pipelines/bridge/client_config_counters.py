"""What a bridge has counted about pushed configurations; numbers only.

Numbers per client instance are kept for the instances that pushed last, up to a bound.
Source: KIP-1324, "Metrics", group `client-config`.
"""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

PerInstance = Mapping[str, float]
"""client_instance_id as text to a number."""


@dataclass(slots=True)
class _PolicyNumbers:
    invocations: int = 0
    errors: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0

    def add(self, took_ms: float, *, has_failed: bool) -> None:
        self.invocations += 1
        self.errors += has_failed
        self.total_ms += took_ms
        self.max_ms = max(self.max_ms, took_ms)


class ClientConfigCounters:
    """Counts since the start."""

    def __init__(self, max_instances: int) -> None:
        self.accepted = 0
        """Answered without an error, after Kafka's acknowledgement."""
        self.too_large = 0
        self.violations = 0
        """Sensitive keys seen, stored without values or refused."""
        self.rejected = 0
        """Pushes refused since they held sensitive keys."""
        self.refused_by_policy = 0
        self.throttled = 0
        """Pushes too soon after the one before on their connection."""
        self.not_stored = 0
        """Refused since Kafka did not take the record."""
        self.late_policies = 0
        """Pushes that the policy was late with, accepted without it."""
        self.skipped_policies = 0
        """Pushes that the policy never saw: too many waited for it already."""
        self._max_instances = max_instances
        self._policies: OrderedDict[str, _PolicyNumbers] = OrderedDict()
        self._present: Counter[str] = Counter()

    def note_present(self, instance: str) -> None:
        """Count an instance that has pushed on a connection that is open."""
        self._present[instance] += 1

    def note_gone(self, instance: str) -> None:
        """Take back note_present when that connection has closed."""
        self._present[instance] -= 1
        if not self._present[instance]:
            del self._present[instance]

    def note_policy(self, instance: str, took_ms: float, *, has_failed: bool) -> None:
        """Count one call of the policy."""
        numbers = self._policies.setdefault(instance, _PolicyNumbers())
        self._policies.move_to_end(instance)
        numbers.add(took_ms, has_failed=has_failed)
        if len(self._policies) > self._max_instances:
            self._policies.popitem(last=False)

    def snapshot(self) -> dict[str, float | PerInstance]:
        """Return every number by its name.

        Units: policy-time is in milliseconds.
        """
        policies = self._policies.items()
        return {
            "instance-count": len(self._present),
            "policy-invocation-count": {name: p.invocations for name, p in policies},
            "policy-error-count": {name: p.errors for name, p in policies},
            "policy-time-avg": {n: p.total_ms / p.invocations for n, p in policies},
            "policy-time-max": {name: p.max_ms for name, p in policies},
            "too-large-count": self.too_large,
            "violation-count": self.violations,
            "accepted-count": self.accepted,
            "rejected-count": self.rejected,
            "policy-refusal-count": self.refused_by_policy,
            "policy-late-count": self.late_policies,
            "policy-skipped-count": self.skipped_policies,
            "throttled-count": self.throttled,
            "not-stored-count": self.not_stored,
        }
