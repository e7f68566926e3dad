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
        "A client without telemetry is active for this time after it pushed its "
        "configuration or the proxy saw it. Any client expires if nothing was "
        "received from it for this time.",
        unit="hours",
        low=1,
        high=8784,
        default=24,
    )
