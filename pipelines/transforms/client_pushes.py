"""The ledger: one row per accepted push."""

from pipelines.table_columns import COORDINATES, names

PUSH = [*names(COORDINATES), "push_id"]
"""What names a push: a topic that is made anew has all coordinates once more."""
