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
class CompactionSettings:
    """The job compact_tables."""

    max_file_bytes: int = key(
        "Size of the files that are written, about. Smaller ones let a question about "
        "one client read less, and there are more of them to be listed.",
        unit="bytes",
        low=2**20,
        # Bytes of a file are one value on their way into the table.
        high=2**30,
        default=33_554_432,
    )
