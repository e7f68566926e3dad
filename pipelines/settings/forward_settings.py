"""The keys of conf/ of the forwarder."""

from dataclasses import dataclass

from .keys import MAX_PORT, key
from .secret_references import SecretReference

OTLP, REMOTE_WRITE = "otlp_http", "remote_write"
AS_SENT, CUMULATIVE = "as_sent", "cumulative"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardSettings:
    """The forwarder: pushes go on to a receiver of OTLP, or of remote write."""

    endpoint: str = key(
        "URL that metrics are posted to, with its path: a collector's ends with "
        "/v1/metrics, that of Prometheus with /api/v1/otlp/v1/metrics or, for remote "
        "write, with /api/v1/write.",
        default="",
    )
    protocol: str = key(
        "otlp_http: OTLP over HTTP, protobuf and gzip; remote_write: Prometheus' "
        "remote write 1.0.",
        choices=(OTLP, REMOTE_WRITE),
        default=OTLP,
    )
    group_id: str = key(
        "Consumer group that reads topics.telemetry.",
        default="kafka-clientele-forwarder",
    )
    temporality: str = key(
        "as_sent: deltas go on as clients send them; cumulative: they are summed up, "
        "as Prometheus needs it. With protocol = remote_write they always are.",
        choices=(AS_SENT, CUMULATIVE),
        default=AS_SENT,
    )
    state_location: str = key(
        "File of sums so far, where deltas are summed up; each forwarder has one of "
        "its own.",
        default="data/forwarder.sqlite",
    )
    max_series: int = key(
        "Sums that are kept, about 50 bytes each in memory and in the file. Where "
        "there are more, those of the clients that were heard of longest ago go, and "
        "begin anew when they come back.",
        low=1000,
        high=100_000_000,
        default=1_000_000,
    )
    max_idle_ms: int = key(
        "Sums of a client go when nothing was heard of it for so long; longer than the "
        "longest push interval.",
        unit="ms",
        low=60_000,
        high=2_592_000_000,
        default=86_400_000,
    )
    username: str = key(
        "The receiver's user name, for HTTP's basic login; empty: none.",
        default="",
    )
    password: SecretReference | None = key(
        "Reference to the password of username: env:NAME, file:PATH or scope/key.",
        default="",
    )
    bearer_token: SecretReference | None = key(
        "Reference to the receiver's bearer token: env:NAME, file:PATH or scope/key.",
        default="",
    )
    ssl_ca_location: str = key(
        "PEM file of trusted certificates; empty: the host's own.",
        default="",
    )
    timeout_ms: int = key(
        "Longest wait for the receiver's answer.",
        unit="ms",
        low=100,
        high=120_000,
        default=10_000,
    )
    batch_bytes: int = key(
        "Size, about, of the metrics of one request, before compression.",
        unit="bytes",
        low=1024,
        high=2**28,
        default=4_194_304,
    )
    allow_metrics: tuple[str, ...] = key(
        "Prefixes of the names of metrics that go on; none: all of them.",
        default=[],
    )
    drop_metrics: tuple[str, ...] = key(
        "Prefixes of the names of metrics that do not go on.",
        default=[],
    )
    allow_labels: tuple[str, ...] = key(
        "Names of labels that go on, those that the bridge adds among them; none: all.",
        default=[],
    )
    drop_labels: tuple[str, ...] = key(
        "Names of labels that are taken off. Points of one push that differed in such "
        "labels alone become one: sums are added up, of gauges the greatest stays.",
        default=[],
    )
    http_host: str = key(
        "Address of the pages /metrics, /healthz and /readyz. They know no passwords.",
        default="127.0.0.1",
    )
    http_port: int = key(
        "Port of these pages; 0 takes a free one, -1 serves none.",
        low=-1,
        high=MAX_PORT,
        default=9191,
    )
