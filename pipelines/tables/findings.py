"""What the tables of findings promise to their readers."""

from collections.abc import Sequence
from dataclasses import dataclass

from .columns import Column, required
from .contract import CHECKPOINTS, STATISTICS_PROPERTY, TableContract

CLIENT_FINDINGS = TableContract(
    name="client_findings",
    comment="What a rule of conf/findings.toml has found of one logical client: one "
    "row, also where it comes and goes. It is open once it held at two evaluations in "
    "a row, and closed once it failed at two.",
    columns=(
        required(
            "cluster_id", "STRING", "Cluster of the client; empty: it is not known."
        ),
        required(
            "logical_client",
            "STRING",
            "As in client_configs; of a finding that is about no one client what it is "
            "about: group/orders, broker/1.",
        ),
        required("rule", "STRING", "Name of the rule."),
        required(
            "severity",
            "STRING",
            "error (records are lost, doubled or misplaced, or the client cannot "
            "work), warning (an ordinary event makes it fail) or advice (it could be "
            "cheaper or faster).",
        ),
        Column("client_type", "STRING", "As in client_configs."),
        Column("principal", "STRING", "Authenticated principal; null: several."),
        Column("client_id", "STRING", "client.id; null: none, or several."),
        Column("group_id", "STRING", "Consumer group; null: none, or not known."),
        Column("client_software_name", "STRING", "Of the worst instance."),
        Column("client_software_version", "STRING", "Of the worst instance."),
        required(
            "client_instance_ids",
            "ARRAY<STRING>",
            "Live instances that it was last found of, the newest first, at most 100. "
            "Of one that the proxy alone has seen a stand-in.",
        ),
        required("instances", "INT", "How many they are."),
        required(
            "evidence",
            "MAP<STRING, STRING>",
            "What was seen of the worst instance, as texts; no hidden value.",
        ),
        required("sentence", "STRING", "What was seen, in words."),
        Column("setting", "STRING", "What is to be set, by the client's own name."),
        Column("current_value", "STRING", "Its value now; null: not known, or none."),
        Column("suggested_value", "STRING", "What to set; null: nothing of a client."),
        required("why", "STRING", "Why."),
        required("source", "STRING", "Where that stands: KIP, issue, documentation."),
        required("since", "TIMESTAMP", "When it began to hold, as evaluated (UTC)."),
        Column(
            "until",
            "TIMESTAMP",
            "When it no longer held, as evaluated (UTC); null while it is open. As "
            "since where it held once, and nothing is known of a second time.",
        ),
        required("last_seen", "TIMESTAMP", "The last evaluation at which it held."),
        Column("silenced_until", "DATE", "Last day of its silence; null: it has none."),
        Column("silenced_reason", "STRING", "Why it is silenced."),
    ),
    merge_key=("cluster_id", "logical_client", "rule"),
    contract_version=1,
    ages_by="last_seen",
    properties={
        "delta.enableDeletionVectors": "true",
        STATISTICS_PROPERTY: "cluster_id,logical_client,rule,severity,principal,"
        "client_id,since,until,last_seen",
    },
)

FINDING_RUNS = TableContract(
    name="finding_runs",
    comment="What one evaluation of client_findings did by one rule: of how many live "
    "clients it was asked, and of how many it could not be. Append-only.",
    columns=(
        required("run_id", "STRING", "One evaluation."),
        required("evaluated_at", "TIMESTAMP", "The moment that it is about (UTC)."),
        required("event_date", "DATE", "Date of evaluated_at in UTC; partitions."),
        required("rule", "STRING", "Name of the rule."),
        required("clients", "BIGINT", "Live clients that the rule is for."),
        required(
            "not_evaluated",
            "BIGINT",
            "Those of them of which something that the rule needs is not known: they "
            "neither have the fault nor are free of it.",
        ),
        required(
            "missing",
            "MAP<STRING, BIGINT>",
            "Config key or metric, or `pushes` (fewer than three in the window), to "
            "clients that lack it.",
        ),
        required("findings", "BIGINT", "Logical clients that it held of."),
        required(
            "coverage",
            "ARRAY<STRUCT<family: STRING, client_type: STRING, lacks: STRING, "
            "clients: BIGINT>>",
            "How many active clients of each software family and client type the rule "
            "was evaluated for (`lacks` is empty), and for how many not: `software` if "
            "the rule is not for this software, else as in `missing`.",
        ),
    ),
    merge_key=("run_id", "rule"),
    contract_version=2,
    partition_by=("event_date",),
    ages_by="event_date",
    properties=CHECKPOINTS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCoverage:
    """Rules that the newest evaluation could evaluate for one kind of client."""

    family: str
    """java, librdkafka, franz-go, sarama or other."""
    client_type: str | None
    """None: not known."""
    clients: int
    rules: int
    """Rules about clients of this type."""
    evaluated: int
    """Rules that were evaluated for at least one of these clients."""
    not_evaluated: Sequence[tuple[str, str]]
    """Each other rule, and why not: what most of these clients lack."""


FINDING_CONTRACTS = (CLIENT_FINDINGS, FINDING_RUNS)
"""In the order in which an evaluation writes them."""
