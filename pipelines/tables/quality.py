"""What the table of checks promises to its readers."""

from .columns import Column, required
from .contract import CHECKPOINTS, TableContract

QUALITY_RESULTS = TableContract(
    name="quality_results",
    comment="What one expectation said of one table in one run of check_tables. "
    "Append-only.",
    columns=(
        required("run_id", "STRING", "One run of check_tables."),
        required("checked_at", "TIMESTAMP", "When that run began (UTC)."),
        required("event_date", "DATE", "Date of checked_at in UTC; partitions."),
        required("table", "STRING", "Table that the expectation is about."),
        required("suite", "STRING", "File of conf/expectations/, without .json."),
        required("expectation", "STRING", "Its name in that file."),
        required("expectation_type", "STRING", "Its type in great-expectations."),
        required("meaning", "STRING", "What it expects, in words."),
        required("success", "BOOLEAN", "Whether it holds."),
        required("observed", "STRING", "What was found, in words, or why nothing was."),
        Column("checked_rows", "BIGINT", "Rows that were looked at."),
        Column("failed_rows", "BIGINT", "Rows that fail it; null: not evaluated."),
        required(
            "examples",
            "ARRAY<STRING>",
            "Keys of some of them, as JSON; never a value beside the key.",
        ),
        required("scope", "STRING", "Which rows: their dates, or all."),
    ),
    merge_key=("run_id", "suite", "expectation"),
    contract_version=1,
    partition_by=("event_date",),
    ages_by="event_date",
    cluster_by=("table",),
    properties=CHECKPOINTS,
)
