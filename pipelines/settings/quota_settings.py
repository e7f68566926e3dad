"""The keys of conf/ about quotas."""

from dataclasses import dataclass

from .keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveQuotaSettings:
    """The table effective_quotas."""

    observed_days: int = key(
        "Clients that were seen in so many days have rows.",
        unit="days",
        low=1,
        high=366,
        default=7,
    )
    interval_ms: int = key(
        "Shortest time between two refreshes by a job whose micro-batch has changed "
        "quotas; refresh_quotas does it at once.",
        unit="ms",
        default=60_000,
    )
