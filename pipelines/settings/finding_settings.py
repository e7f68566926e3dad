"""The keys of conf/ about findings."""

from dataclasses import dataclass

from .keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingSettings:
    """The job client_findings and the command findings."""

    rules_location: str = key(
        "A file of rules and silences of your own, or a folder of such files, beside "
        "conf/findings.toml: they add, change and silence rules. Empty: none.",
        default="",
    )
    window_minutes: int = key(
        "Telemetry of so many minutes is looked at: at least three push intervals, "
        "else rules that need metrics are not evaluated.",
        unit="minutes",
        low=1,
        high=1440,
        default=30,
    )
    observed_hours: int = key(
        "A client that sends no telemetry is taken to live so long after its "
        "configuration was last pushed, or seen by the proxy.",
        unit="hours",
        low=1,
        high=8784,
        default=24,
    )
