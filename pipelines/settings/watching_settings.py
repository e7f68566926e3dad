"""The keys of conf/ about what watches bridges, jobs and tables."""

from dataclasses import dataclass

from .keys import MAX_PORT, key

STREAMING_JOBS = (
    "client_telemetry_to_delta",
    "client_configs_to_delta",
    "client_wire_configs_to_delta",
    "client_traffic_to_delta",
    "cluster_metadata_to_delta",
    "dynamic_configs_to_delta",
)
"""Jobs over topics, by the names of their settings; in the order of their ports."""
NO_PORT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchingSettings:
    """What the command status asks and takes for a fault, and /metrics of the jobs."""

    bridges: tuple[str, ...] = key(
        "Pages of all bridges that status asks, as host:port, one for each of "
        "bridge.workers. Empty: those of [bridge], at http_host and http_port.",
        default=[],
    )
    jobs: tuple[str, ...] = key(
        "Streaming jobs that must be there. Empty: each that was ever started with "
        "these checkpoint locations.",
        choices=STREAMING_JOBS,
        default=[],
    )
    max_lag_ms: int = key(
        "A record that has waited longer for its job is a fault. The command jobs lets "
        "few of them wait for as long as jobs.max_config_wait_ms says.",
        unit="ms",
        low=1_000,
        default=420_000,
    )
    max_quarantined: int = key(
        "More records of the last hour in quarantine are a fault.",
        default=100,
    )
    max_run_age_hours: int = key(
        "A last maintenance longer ago is a fault, and so is a last check, or a table "
        "that is older where no maintenance has come to its end. 0: no age is one.",
        unit="hours",
        low=0,
        default=72,
    )
    answer_timeout_ms: int = key(
        "Longest wait of status for Kafka, and for each page of a bridge.",
        unit="ms",
        low=100,
        high=60_000,
        default=2_000,
    )
    jobs_http_host: str = key(
        "Address of /metrics of the streaming jobs' drivers. It knows no passwords: "
        "whoever can connect may read it.",
        default="127.0.0.1",
    )
    jobs_http_port: int = key(
        "Port of this page: that of client_telemetry_to_delta, and of jobs, which runs "
        "all in one driver. client_configs_to_delta, client_wire_configs_to_delta, "
        "client_traffic_to_delta, cluster_metadata_to_delta and "
        "dynamic_configs_to_delta have the ports behind it. 0 takes free ones, -1 "
        "serves none.",
        low=NO_PORT,
        high=MAX_PORT - len(STREAMING_JOBS) + 1,
        default=9194,
    )
