"""The keys of conf/ of jobs over tables."""

from dataclasses import dataclass

from .keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """The job replay_pushes."""

    max_pushes_per_commit: int = key(
        "Pushes that are decoded and replaced at once, at most; one commit a table. "
        "More of them need more memory and disk, fewer rewrite the same files more "
        "often.",
        low=1,
        high=1_000_000,
        default=100_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceSettings:
    """The job maintain_tables."""

    retention_location: str = key(
        "File that says how long rows, older versions and Delta's log are kept, by "
        "table. Empty: conf/retention.toml.",
        default="",
    )
    longest_read_hours: int = key(
        "Longest query, replay or stop of a reader that is allowed: files of older "
        "versions stay at least as long, whatever the file above says.",
        unit="hours",
        low=1,
        high=8760,
        default=48,
    )
    max_file_bytes: int = key(
        "Size of the files that are written, about. Smaller ones let a question about "
        "one client read less, and there are more of them to be listed.",
        unit="bytes",
        low=2**20,
        high=2**30,
        default=33_554_432,
    )
    min_spare_files: int = key(
        "Files of a date, or of a table without dates, beyond those that its bytes "
        "need, from which it is compacted; of a large one as many as it needs at "
        "least.",
        low=1,
        high=100_000,
        default=8,
    )
    quiet_minutes: int = key(
        "A date is compacted when nothing has been written to it for so long.",
        unit="minutes",
        high=10_080,
        default=60,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """The command check_tables."""

    stale_intervals: int = key(
        "A table that is written to at intervals (of pushes, of full sets of a "
        "cluster) fails when so many of them passed without a new row; 0: never.",
        high=1_000,
        default=3,
    )
    stale_grace_ms: int = key(
        "What that may take longer, for clients that start, jobs and checks.",
        unit="ms",
        default=600_000,
    )
    time_bound_ms: int = key(
        "The time of a point may be so far from the time of its push, either way: "
        "clients' clocks differ.",
        unit="ms",
        low=1,
        default=86_400_000,
    )
    examples: int = key(
        "Keys of failing rows that quality_results names of each expectation, at most.",
        high=100,
        default=5,
    )
