"""What a page says, as plain rows: made by collecting, or by a test.

Texts are here as the tables have them; what becomes of them on a page is texts.py's.
Times are datetimes that know their zone, but for columns of CLIENTS.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pyarrow as pa

from pipelines.tables.findings import KindCoverage

ERROR, WARNING, ADVICE = "error", "warning", "advice"
SEVERITIES = (ERROR, WARNING, ADVICE)
"""The most severe first."""
ACTIVE, IDLE, TERMINATED, EXPIRED = "active", "idle", "terminated", "expired"
STATES = (ACTIVE, IDLE, TERMINATED, EXPIRED)
"""Of a client, as known_clients has them."""
TELEMETRY = "telemetry"
"""What tells of a client that pushes telemetry."""
UNKNOWN = "unknown"
"""Software or version that a client has not told."""
SPENT_PARTS = ("waits in the client", "request", "throttled")
"""Where a record's time goes, in the order of its way."""

CLIENTS = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("principal", pa.string()),
        ("client_id", pa.string()),
        ("client_type", pa.string()),
        ("software", pa.string()),
        ("version", pa.string()),
        ("versions", pa.int32()),
        ("state", pa.string()),
        ("known_by", pa.string()),
        ("instances", pa.int32()),
        ("active", pa.int32()),
        ("first_seen", pa.int64()),
        ("last_seen", pa.int64()),
        ("group_id", pa.string()),
        ("errors", pa.int32()),
        ("warnings", pa.int32()),
        ("advice", pa.int32()),
        ("use", pa.float64()),
        ("throttled_ms", pa.float64()),
    ]
)
"""A row per client (principal, client ID and type, in a cluster), those first that need
somebody. software and version are those of its newest instance, versions how many
different ones it has; active counts its active instances; times are milliseconds since
1970; use is the part of its tightest limit that is used, throttled_ms the longest time
that it was told to wait. known_by is `telemetry`, `configs` or `wire`. Nulls: what is
not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """Time of lines and pictures, fitted to the pushes that there are."""

    start: datetime
    end: datetime
    steps: int
    """Equal parts of the time; points name them from 0."""

    @property
    def step_ms(self) -> int:
        """Return the length of a step in milliseconds."""
        span_ms = (self.end - self.start) // timedelta(milliseconds=1)
        return max(1, span_ms // self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What all active clients do now; null: no client reports it."""

    sent_bytes: float | None = None
    """Bytes a second that producers send."""
    consumed_bytes: float | None = None
    """Bytes a second that consumers read."""
    largest_lag: float | None = None
    """Records that the partition with most lag is behind."""
    lag_client: str | None = None
    """Client id of its consumer, as name_client_id writes it."""
    lag_row: int | None = None
    """Row of its consumer in CLIENTS."""
    errors: float | None = None
    """Records a second that producers failed to send."""
    throttled_clients: int | None = None
    """Active clients whose newest throttle time is above zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows of one table of the page, or why there are none."""

    names: tuple[str, ...] = ()
    rows: Sequence[Sequence[object]] = ()
    more: int = 0
    """Rows that are left out."""
    missing: str = ""
    """What is not there, and what makes it; empty: it is there, if without rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A client that a finding is about."""

    row: int | None
    """Its row in CLIENTS; null: it is none of them."""
    name: str
    sentence: str
    since: datetime | None
    cluster: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFindings:
    """Open findings of one rule."""

    rule: str
    severity: str
    clients: int
    instances: int
    opened: int
    """Of them since Fleet.since."""
    since: datetime | None
    """When the oldest opened."""
    setting: str | None
    suggested_value: str | None
    why: str | None
    source: str | None
    examples: Sequence[Example]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A metric of a client over time."""

    name: str
    unit: str
    points: Sequence[tuple[int, float]]
    """Step of Fleet.axis, and value; a single point is one value, not a line."""
    is_per_step: bool = False
    """Whether a value is an amount of its step, such as the errors in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What the page part of one client shows beside its row of CLIENTS."""

    identity: Sequence[tuple[str, object]] = ()
    instances: Part = Part()
    configs: Part = Part()
    history: Part = Part()
    lines: Sequence[Line] = ()
    marks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """`throttled`, `rebalance` and `configuration` (changed), each with its steps."""
    quotas: Part = Part()
    findings: Part = Part()
    """Columns `rule` and `source` become links to the rule and to its documentation."""
    push_interval_ms: int | None = None
    """Longest push interval of its instances; a longer silence breaks a line."""
    rules_evaluated: int | None = None
    """Rules that were evaluated for clients of its kind; null: not known."""
    rules_not_evaluated: Part = Part()
    """Each other rule, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Rows of a picture and how many clients they are about."""

    rows: Sequence[Sequence[object]] = ()
    covered: int = 0
    """Clients that the rows are about."""
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What changed in one respect since Fleet.since."""

    what: str
    """In words, with its number: `3 clients came`."""
    detail: Part
    moments: Sequence[tuple[datetime, str]] = ()
    """When something of it happened, and what, for the picture of who is here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All that the page says."""

    environment: str
    made_at: datetime
    since: datetime
    """Start of the changes."""
    values: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Configured value, as `acks=1`, to ascending rows of CLIENTS that have it now."""
    found: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Rule to ascending rows of CLIENTS that have an open finding of it."""
    axis: TimeAxis
    newest_push: datetime | None = None
    """Newest push of any client in the tables; null: no client has pushed."""
    push_interval_ms: int | None = None
    """Usual push interval; pushes that are three intervals old mean a stopped job."""
    evaluated_at: datetime | None = None
    """When the rules were evaluated last; null: not known."""
    totals: Totals = Totals()
    rule_coverage: Sequence[KindCoverage] = ()
    """How many rules were evaluated for each family and type of clients; empty: it is
    not known."""
    principals: tuple[str, ...] = ()
    """The only ones that the page is about; empty: all."""
    clients: pa.Table
    details: Sequence[Detail] = ()
    """Of the first rows of clients, in their order."""
    rules: Sequence[RuleFindings] = ()
    findings_missing: str = ""
    changes: Sequence[Change] = ()
    live: Picture = Picture()
    """Step of axis, name of a group of clients, live instances."""
    latency: Picture = Picture()
    """client, broker, latency in ms, the same as a part of the client's median."""
    time_spent: Picture = Picture()
    """client, one of SPENT_PARTS, ms."""
    consumers: Picture = Picture()
    """client, idle part of its polls, lag in records, records a second."""
    limits: Part = Part()
    outliers: Part = Part()
    disagreements: Part = Part()
    brokers: Part = Part()
    drift: Part = Part()
    not_told: Sequence[tuple[str, Part]] = ()
    """What the tables cannot say, as titles and rows."""
    health: Sequence[tuple[str, Part]] = ()
    """How the tables are."""
