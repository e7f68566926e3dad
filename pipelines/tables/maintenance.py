"""The table that says what maintenance has done."""

from .columns import Column, required
from .contract import TableContract

MAINTENANCE_RUNS = TableContract(
    name="maintenance_runs",
    comment="What one run of maintain_tables has done to one table by one action, or "
    "why it has not. Append-only.",
    columns=(
        required("run_id", "STRING", "Names the run."),
        required("table_name", "STRING", "Name of the table; * for the whole run."),
        required(
            "action",
            "STRING",
            "properties, retention, compaction or vacuum; run for the whole run, "
            "which is written last, or for a table that could not be looked at.",
        ),
        required("outcome", "STRING", "done, left alone or failed."),
        required("why", "STRING", "Why it was done, or was not."),
        required("started_at", "TIMESTAMP", "When the action began (UTC)."),
        required("seconds", "DOUBLE", "How long it took."),
        Column("partitions", "ARRAY<STRING>", "Dates that it was about; null: none."),
        Column("files_before", "BIGINT", "Files that it was about; null: not known."),
        Column("bytes_before", "BIGINT", "Their size."),
        Column("files_after", "BIGINT", "Files that were left of them, or came."),
        Column("bytes_after", "BIGINT", "Their size."),
        Column("bytes_rewritten", "BIGINT", "Bytes of files that were written anew."),
        Column("rows_deleted", "BIGINT", "Rows that are gone; null: none were to go."),
    ),
    merge_key=("run_id", "table_name", "action", "outcome"),
    contract_version=1,
    ages_by="started_at",
)
