"""What a bridge has counted about pushed configurations; numbers only.

Numbers per client instance are kept for the instances that pushed last, up to a bound.
Counts are since the start, rates, averages and maxima over Kafka's windows.
Source: KIP-1324, "Metrics", group `client-config`.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pipelines.bridge.core.sampled_stats import Meter, SampledStat

PerInstance = Mapping[str, float]
"""client_instance_id as text to a number."""


@dataclass(slots=True)
class _PolicyNumbers:
    invocations: int = 0
    calls_ms: SampledStat = field(default_factory=SampledStat)
    errors: Meter = field(default_factory=Meter)

    def add(self, took_ms: float, now_s: float, *, has_failed: bool) -> None:
        self.invocations += 1
        self.calls_ms.record(took_ms, now_s)
        if has_failed:
            self.errors.add(1, now_s)


class ClientConfigCounters:
    """What is counted of all pushed configurations."""

    def __init__(self, max_instances: int, now_s: Callable[[], float]) -> None:
        """Take the bound, and a clock that never steps back."""
        self._now_s = now_s
        self.accepted = 0
        """Answered without an error, after Kafka's acknowledgement."""
        self._too_large = Meter()
        self._violations = Meter()
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

    def note_too_large(self) -> None:
        """Count a push that is too large."""
        self._too_large.add(1, self._now_s())

    def note_violations(self, number: int) -> None:
        """Count sensitive keys of one push, stored without values or refused."""
        if number:
            self._violations.add(number, self._now_s())

    def note_policy(self, instance: str, took_ms: float, *, has_failed: bool) -> None:
        """Count one call of the policy."""
        numbers = self._policies.setdefault(instance, _PolicyNumbers())
        self._policies.move_to_end(instance)
        numbers.add(took_ms, self._now_s(), has_failed=has_failed)
        if len(self._policies) > self._max_instances:
            self._policies.popitem(last=False)

    def snapshot(self) -> dict[str, float | PerInstance]:
        """Return every number by its name.

        Units: rates are per second; policy-time is in milliseconds.
        Nulls: policy-time is NaN where the policy was not called in Kafka's windows.
        """
        now_s, policies = self._now_s(), self._policies.items()
        return {
            "instance-count": len(self._present),
            "policy-invocation-count": {name: p.invocations for name, p in policies},
            "policy-invocation-rate": {
                name: p.calls_ms.event_rate(now_s) for name, p in policies
            },
            "policy-error-count": {name: p.errors.count for name, p in policies},
            "policy-error-rate": {name: p.errors.rate(now_s) for name, p in policies},
            "policy-time-avg": {n: p.calls_ms.average(now_s) for n, p in policies},
            "policy-time-max": {n: p.calls_ms.maximum(now_s) for n, p in policies},
            "too-large-count": self._too_large.count,
            "too-large-rate": self._too_large.rate(now_s),
            "violation-count": self._violations.count,
            "violation-rate": self._violations.rate(now_s),
            "accepted-count": self.accepted,
            "rejected-count": self.rejected,
            "policy-refusal-count": self.refused_by_policy,
            "policy-late-count": self.late_policies,
            "policy-skipped-count": self.skipped_policies,
            "throttled-count": self.throttled,
            "not-stored-count": self.not_stored,
        }
